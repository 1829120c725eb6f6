"""Errors of the services, each written to be read by the person who started the run."""

from __future__ import annotations


class InfraError(Exception):
    """The services asked for cannot be had here; the message is one line and says what to do."""


class ServiceError(Exception):
    """A service did not do what it must; the message carries the end of its log, which tells why."""

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(f"{message}\n--- end of its log ---\n{log_tail}" if log_tail else message)
