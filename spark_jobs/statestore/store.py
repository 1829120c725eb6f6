"""The store as the steps see it, and Spark's map state with its calls in flight together.

Every call of Spark's Python state API is a message over a socket and a wait for its answer: a quarter of a
millisecond here, whatever it does. The server in the JVM answers in order and asks for no lock-step, so
many requests are sent at once and their answers read after: a write costs a quarter of that, a read half.
This goes below the public API (`_statefulProcessorApiClient`); pyspark is pinned, and tests/cases/statestore
goes through every call.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from pyspark.sql.types import BinaryType, StringType, StructField, StructType

KEY_SCHEMA = StructType([StructField("key", StringType())])
VALUE_SCHEMA = StructType([StructField("value", BinaryType())])

_IN_FLIGHT = 256
#: Answers to writes are a few bytes each; answers to reads may be large, so reads never share a flight with
#: writes: both ends would wait for the other to read.
_FLIGHT_BYTES = 1 << 20
_HEAD = struct.Struct(">ii")


class Store(Protocol):
    """`put` and `remove` may be held back until `flush` or the next read."""

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]: ...

    def put(self, key: str, value: bytes) -> None: ...

    def remove(self, key: str) -> None: ...

    def flush(self) -> None: ...

    def first_keys(self) -> Iterator[str]:
        """From the first key of the store's order on; timers come first. Sees no later change."""
        ...


class Counts:
    """What was asked of a store."""

    def __init__(self) -> None:
        self.gets = self.puts = self.removes = self.scans = self.scanned = 0
        self.bytes_put = 0

    def as_dict(self) -> dict[str, int]:
        return dict(vars(self))


class StateStoreError(Exception):
    """The JVM refused a call."""


class PipelinedStore:
    """Map states of one grouping key; `state_of` says which of them holds a key."""

    def __init__(
        self, handle: Any, states: Sequence[Any], state_of: Callable[[str], str], counts: Counts
    ) -> None:
        # The generated module is large: only where a processor runs.
        from pyspark.sql.streaming.proto import StateMessage_pb2

        self._messages: Any = StateMessage_pb2
        self._client = handle._statefulProcessorApiClient
        self._dumps: Callable[[Any], bytes] = self._client.pickleSer.dumps
        self._loads: Callable[[bytes], Any] = self._client.pickleSer.loads
        self._states = {state._stateName: state for state in states}
        self._state_of = state_of
        self._held: list[bytes] = []
        self._held_bytes = 0
        self.counts = counts

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        self.flush()
        found: list[bytes | None] = []
        call = self._messages.GetValue
        for low in range(0, len(keys), _IN_FLIGHT):
            part = keys[low : low + _IN_FLIGHT]
            requests = [self._request(key, getValue=call(userKey=self._dumps((key,)))) for key in part]
            found += [self._loads(value)[0] if value else None for value in self._exchange(requests)]
        self.counts.gets += len(keys)
        return found

    def put(self, key: str, value: bytes) -> None:
        call = self._messages.UpdateValue(userKey=self._dumps((key,)), value=self._dumps((value,)))
        self._hold(self._request(key, updateValue=call))
        self.counts.puts += 1
        self.counts.bytes_put += len(key) + len(value)

    def remove(self, key: str) -> None:
        self._hold(self._request(key, removeKey=self._messages.RemoveKey(userKey=self._dumps((key,)))))
        self.counts.removes += 1

    def flush(self) -> None:
        if self._held:
            held, self._held, self._held_bytes = self._held, [], 0
            self._exchange(held)

    def first_keys(self) -> Iterator[str]:
        self.flush()
        self.counts.scans += 1
        timers = self._states[self._state_of("t/")]
        for (key,) in timers.keys():  # noqa: SIM118 - a state is no dict
            self.counts.scanned += 1
            yield key

    def _hold(self, request: bytes) -> None:
        self._held.append(request)
        self._held_bytes += len(request)
        if len(self._held) >= _IN_FLIGHT or self._held_bytes >= _FLIGHT_BYTES:
            self.flush()

    def _request(self, key: str, **call: Any) -> bytes:
        messages = self._messages
        of_map = messages.MapStateCall(stateName=self._state_of(key), **call)
        of_variable = messages.StateVariableRequest(mapStateCall=of_map)
        request: bytes = messages.StateRequest(stateVariableRequest=of_variable).SerializeToString()
        return request

    def _exchange(self, requests: Sequence[bytes]) -> list[bytes]:
        out = self._client.sockfile
        # Version 0 and the length go before each request, as the client itself sends them.
        out.write(b"".join([part for one in requests for part in (_HEAD.pack(0, len(one)), one)]))
        out.flush()
        answers = [self._client._receive_proto_message() for _ in requests]
        for status, text, _ in answers:
            if status != 0:
                raise StateStoreError(f"the state store refused a call: {text}")
        return [value for _, _, value in answers]
