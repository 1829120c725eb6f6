"""Errors of the source and the sink, each one sentence that says what to do."""

from __future__ import annotations


class JetStreamError(Exception):
    """JetStream refused a request; trying again will not help."""

    def __init__(self, message: str, err_code: int = 0) -> None:
        super().__init__(message)
        self.err_code = err_code

    def __reduce__(self) -> tuple[type[JetStreamError], tuple[str, int]]:
        return type(self), (str(self), self.err_code)  # it travels from executor to driver as a pickle


class MissingStreamError(JetStreamError):
    """The stream does not exist."""


class DataLossError(JetStreamError):
    """Events that Spark has not read yet are gone from the stream."""


class BadRowError(JetStreamError):
    """A payload that is not the JSON the schema asks for, with mode FAILFAST."""


class PublishError(JetStreamError):
    """JetStream refused to store a row of the sink."""
