"""Addresses of servers: what they say, what is refused, and no secret in any text."""

from __future__ import annotations

import pytest

from bench.wire.connection import Server

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("nats://h", Server("h", 4222)),
        ("nats://h:1", Server("h", 1)),
        ("nats://h:1/", Server("h", 1)),
        ("tls://h:1", Server("h", 1, tls=True)),
        ("nats://u:p@h:1", Server("h", 1, "u", "p")),
        ("nats://u:p%40%2F@h:1", Server("h", 1, "u", "p@/")),
        ("nats://tok@h:1", Server("h", 1, token="tok")),
        ("nats://[::1]:5", Server("::1", 5)),
        ("NATS://Host:5", Server("host", 5)),
    ],
)
def test_addresses(url: str, wanted: Server) -> None:
    """If this fails, a user's address means another host, account or encryption."""
    assert Server.from_url(url) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h:4222",
        "http://h:4222",
        "nats://",
        "nats://:4222",
        f"nats://u:{SECRET}@h:port",
        f"nats://u:{SECRET}@h:99999",
        f"nats://u:{SECRET}/x@h:1",
        f"nats://{SECRET}/x@h:1",
        f"nats://u:{SECRET}@[h",
        f"nats://u:{SECRET}@h℀x",
    ],
)
def test_a_wrong_address_is_refused_without_its_password(url: str) -> None:
    """If this fails, a typo connects elsewhere or prints the password."""
    with pytest.raises(ValueError, match="looks like") as told:
        Server.from_url(url)
    assert SECRET not in str(told.value)
    assert told.value.__suppress_context__ or told.value.__context__ is None


def test_no_text_form_shows_a_secret() -> None:
    """If this fails, a password or token ends in a traceback or a manifest."""
    assert SECRET not in f"{Server('h', 1, 'u', SECRET)!r} {Server('h', 1, token=SECRET)}"
