"""Which messages of a stream have been received, when nobody knows beforehand how many there will be."""

from __future__ import annotations


class StreamSeqs:
    """One byte a stream sequence, grown as they come."""

    def __init__(self) -> None:
        self._seen = bytearray(1 << 16)

    def first_time(self, stream_seq: int) -> bool:
        """Note a delivery; True unless the message had been delivered before."""
        if stream_seq >= len(self._seen):
            self._seen.extend(bytes(max(len(self._seen), stream_seq + 1 - len(self._seen))))
        if self._seen[stream_seq]:
            return False
        self._seen[stream_seq] = 1
        return True
