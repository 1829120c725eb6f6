"""A pull reader that takes a consumer nobody serves at the moment for what it is: something that passes.

A leader is being elected, a server has just started again, or JetStream is down with its disk full: requests
are answered with 503. The driver then comes back, like after a broken connection, once the consumer is there.
"""

from __future__ import annotations

from bench.wire.api import api_request
from bench.wire.batch import Batch
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost, Unserved, WireError
from bench.wire.pull import PullReader


class PatientReader(PullReader):
    def read(self, timeout_s: float, linger_s: float = 0.0, linger_bytes: int = 256 * 1024) -> Batch:
        try:
            return super().read(timeout_s, linger_s, linger_bytes)
        except Unserved as error:
            raise ConnectionLost(str(error)) from None


def reopened(connection: Connection, stream: str, consumer: str, batch: int) -> PatientReader:
    """A reader on a consumer that is served; ConnectionLost if it is not (yet)."""
    try:
        info = api_request(connection, f"$JS.API.CONSUMER.INFO.{stream}.{consumer}", {}, attempts=1)
        cluster = info.get("cluster")
        if cluster is not None and not cluster.get("leader"):
            raise ConnectionLost(f"the consumer {consumer} has no leader")
        return PatientReader(connection, stream, consumer, batch)
    except WireError as error:
        connection.close()
        raise ConnectionLost(str(error)) from None
