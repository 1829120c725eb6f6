"""The leash's arguments: it kills and deletes, so it must refuse what it does not know."""

from __future__ import annotations

import pytest

from bench.infra import leash

GOOD = ["--fd", "5", "--parent", "100", "--prefix", "jetlag-nats-"]


def test_good_arguments() -> None:
    """The defaults are what every service runs with."""
    options = leash.parse(GOOD)
    assert (options.fd, options.parent, options.prefix, options.grace_s) == (5, 100, "jetlag-nats-", 10.0)


@pytest.mark.parametrize(
    "change",
    [
        {"--fd": "1"},
        {"--fd": "x"},
        {"--parent": "0"},
        {"--parent": "-1"},
        {"--prefix": ""},
        {"--prefix": "/etc"},
        {"--prefix": "jetlag-../x"},
        {"--grace-s": "-1"},
        {"--unknown": "1"},
    ],
)
def test_bad_arguments_are_refused(change: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A supervisor with a wrong parent or folder would kill or delete the wrong thing."""
    arguments = {**dict(zip(GOOD[::2], GOOD[1::2], strict=True)), **change}
    with pytest.raises(SystemExit) as caught:
        leash.parse([text for pair in arguments.items() for text in pair])
    assert caught.value.code == 2


@pytest.mark.parametrize("missing", ["--fd", "--parent", "--prefix"])
def test_missing_arguments_are_refused(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A supervisor without a parent to watch would never end."""
    at = GOOD.index(missing)
    with pytest.raises(SystemExit):
        leash.parse(GOOD[:at] + GOOD[at + 2 :])
