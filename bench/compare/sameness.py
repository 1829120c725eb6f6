"""May two runs be compared? Out of their manifests: what differs, and whether that forbids it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bench.report.plain import Json, mapping, number

#: Two runs that differ here answer different questions.
REFUSED = (
    "case_version",
    "load",
    "transport",
    "windows",
    "engine",
    "settings",
    "infra",
    "machine.cpu",
    "machine.cores",
    "machine.memory_bytes",
)
#: What a comparison may well be about, or what rarely matters: said, not refused.
FLAGGED = ("engine.version", "drivers", "services", "libraries", "machine.os", "machine.python")
#: Differ from start to start and say nothing.
_PASSING = ("endpoint", "seed", "app_id", "pid")
#: The same machine reports a little more or less memory after a kernel's update.
_MEMORY_SHARE = 0.02


@dataclass(frozen=True)
class Difference:
    what: str
    base: object
    new: object

    def __str__(self) -> str:
        return f"{self.what}: {_shown(self.base)} in the base, {_shown(self.new)} now"


@dataclass(frozen=True)
class Sameness:
    refused: tuple[Difference, ...]
    flagged: tuple[Difference, ...]


def sameness(base: Json, new: Json, accepted: Collection[str] = ()) -> Sameness:
    """Of two manifests; `accepted` names entries of REFUSED (or parts of them) that are to differ."""
    refused: list[Difference] = []
    flagged: list[Difference] = []
    for difference in _differences("", base, new):
        if _under(difference.what, (*FLAGGED, *accepted)):
            flagged.append(difference)
        elif _under(difference.what, REFUSED):
            refused.append(difference)
    # A manifest without these cannot vouch for itself: "unknown" is not "the same".
    for name in ("case_version", "load", "machine"):
        if name not in base and name not in new and name not in accepted:
            refused.append(Difference(name, None, None))
    return Sameness(tuple(refused), tuple(flagged))


def _under(what: str, names: Collection[str]) -> bool:
    return any(what == name or what.startswith(f"{name}.") for name in names)


def _differences(prefix: str, base: Json, new: Json) -> Iterator[Difference]:
    for key in sorted(base.keys() | new.keys()):
        what = f"{prefix}.{key}" if prefix else key
        one, other = base.get(key), new.get(key)
        if one == other or key in _PASSING:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _differences(what, mapping(one), mapping(other))
        elif what != "machine.memory_bytes" or not _close(one, other):
            yield Difference(what, one, other)


def _close(one: object, other: object) -> bool:
    before, after = number(one), number(other)
    return before is not None and after is not None and abs(after - before) <= _MEMORY_SHARE * before


def _shown(value: object) -> str:
    shown = "nothing" if value is None else str(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
