"""The store of the statestore suite in a dict, in the order of Spark's keys: by length, then bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence


class MemoryStore:
    def __init__(self, order: Callable[[str], tuple[int, str]] = lambda key: (len(key), key)) -> None:
        self.held: dict[str, bytes] = {}
        self._order = order

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.held.get(key) for key in keys]

    def put(self, key: str, value: bytes) -> None:
        self.held[key] = value

    def remove(self, key: str) -> None:
        del self.held[key]

    def flush(self) -> None:
        pass

    def first_keys(self) -> Iterator[str]:
        yield from sorted(self.held, key=self._order)
