"""Numbers as people read them: a unit that fits, three digits that matter, a dash for nothing measured."""

from __future__ import annotations

NOTHING = "–"


def count(value: float | None) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, int) or abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rate(value: float | None) -> str:
    return NOTHING if value is None else f"{count(value)}/s"


def slope(value: float | None) -> str:
    """A change per second; the sign is part of what it says."""
    if value is None:
        return NOTHING
    shown = count(abs(value))
    if not shown.strip("0."):
        return "±0/s"
    return f"{'+' if value > 0 else '−'}{shown}/s"


def milliseconds(value: float | None) -> str:
    """4.1 µs, 0.42 ms, 4.1 ms, 420 ms, 10.7 s, 2.5 min."""
    if value is None:
        return NOTHING
    size = abs(value)
    if size >= 120_000:
        return f"{value / 60_000:.1f} min"
    if size >= 999.5:
        return f"{value / 1000:.2f} s" if size < 9_995 else f"{value / 1000:.1f} s"
    if size >= 99.95:
        return f"{value:.0f} ms"
    if 0 < size < 0.0995:
        return f"{value * 1000:.1f} µs"
    return f"{value:.1f} ms" if size >= 0.995 or not size else f"{value:.2f} ms"


def microseconds(value: float | None) -> str:
    return milliseconds(None if value is None else value / 1000)


def size(value: float | None) -> str:
    """Bytes in powers of ten, as disks and networks are sold."""
    if value is None:
        return NOTHING
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor * 0.9995:
            scaled = value / factor
            return f"{scaled:.0f} {unit}" if abs(scaled) >= 99.5 else f"{scaled:.1f} {unit}"
    return f"{value:.0f} B"


def cores(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def metric(name: str, value: float | None) -> str:
    """By the unit in the metric's name; counts stay whole, shares keep three digits."""
    if value is None:
        return NOTHING
    if "_ms" in name:
        return milliseconds(value)
    if name.endswith("_per_s"):
        return rate(value)
    if "bytes" in name:
        return size(value)
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{value:,.0f}"
    return (f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}").replace("-", "−", 1)


def beside(name: str, observed: float | None, bound: float | None) -> tuple[str, str]:
    """Both as text; rounded alike, a value just past its bound would look equal to it: then all digits."""
    shown, wanted = metric(name, observed), metric(name, bound)
    if shown == wanted and observed != bound:
        return repr(observed), repr(bound)
    return shown, wanted
