"""The producer's heartbeat as an observer hears it: through JetStream, the latest per run."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.contract.heartbeat import Heartbeat, decode_heartbeat
from bench.contract.names import CTRL
from bench.patient_reader import PatientReader
from bench.wire.connection import Connection
from bench.wire.errors import ConnectionLost


class Pulse:
    """Reads `bench.prod`; for one thread."""

    def __init__(self, connect: Callable[[str], Connection], consumer: str, run_id: str) -> None:
        self._connect = connect
        self._consumer = consumer
        self._run_id = run_id
        self._reader: PatientReader | None = None
        self.latest: Heartbeat | None = None
        self.beats = 0

    def listen(self, wait_s: float) -> Heartbeat | None:
        """Wait for the next heartbeat at most `wait_s`; returns the latest there is."""
        deadline = time.monotonic() + wait_s
        heard = self.beats
        while self.beats == heard and (left := deadline - time.monotonic()) > 0:
            try:
                self._hear(left)
            except ConnectionLost:
                # The drivers tell of the outage; here only the lag's upper end grows stale meanwhile.
                self.close()
                time.sleep(min(left, 0.05))
        return self.latest

    def _hear(self, wait_s: float) -> None:
        if self._reader is None:
            self._reader = PatientReader(self._connect("pulse"), CTRL, self._consumer, batch=100, in_flight=1)
        batch = self._reader.read(wait_s)
        for i in range(len(batch)):
            try:
                heartbeat = decode_heartbeat(batch.payload(i))
            except ValueError:
                continue  # somebody else speaks on this subject: no reason to end the measurement
            if heartbeat.run_id == self._run_id:
                self.latest = heartbeat
                self.beats += 1

    def close(self) -> None:
        if self._reader is not None:
            self._reader.connection.close()
            self._reader = None
