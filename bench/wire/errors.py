"""What can go wrong on the wire, told apart by what the caller can do about it."""

from __future__ import annotations


class WireError(Exception):
    """The server refused us, or sent what the protocol does not allow: trying again will not help."""


class Unserved(WireError):  # noqa: N818 - the name says what happened
    """Nobody serves the consumer at the moment (503): it may be served again."""


class ConnectionLost(WireError):  # noqa: N818 - the name says what happened
    """The connection broke; a new one may work."""
