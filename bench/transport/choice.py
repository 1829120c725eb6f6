"""Which cells are run: a few at smoke, the published ones and some more at standard, or the whole product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.transport.cell import Cell, Mode, full_product


@dataclass(frozen=True)
class Published:
    """What the evaluation that this suite follows reports: averages over its pods.

    Its machines: three nodes of 4 CPUs and 15 GiB, one CPU and 2 GiB a NATS server.
    """

    publisher_per_s: float
    subscriber_per_s: float | None = None


#: The evaluation's cells (2 publishers and 10 ordered subscribers a group), with its figures.
EVALUATION: dict[Cell, Published] = {
    Cell("one", "file", 3, "sync", 10240, 3): Published(177, 340),
    Cell("one", "file", 3, "async", 10240, 3): Published(628),
    Cell("one", "file", 3, "async", 1024, 3): Published(1810),
    Cell("one", "file", 3, "sync", 10240, 6): Published(97, 175),
    Cell("per-app", "file", 3, "sync", 10240, 3): Published(210, 360),
    Cell("per-app", "file", 3, "sync", 10240, 6): Published(173, 350),
    Cell("one", "memory", 3, "sync", 1024, 6): Published(197, 360),
    Cell("one", "file", 3, "sync", 1024, 6): Published(164, 330),
    Cell("one", "file", 1, "sync", 1024, 6): Published(173, 320),
    Cell("one", "file", 1, "async", 512, 6): Published(332),
    # Measured twice by the evaluation: 387 and 408.
    Cell("one", "file", 3, "async", 512, 6): Published(408),
}

#: What the evaluation did not have: atomic batches, pull consumers, an asynchronous stream per app.
BESIDE = (
    Cell("one", "file", 3, "batch", 1024, 3),
    Cell("one", "file", 3, "async", 1024, 3, consumers="pull"),
    Cell("per-app", "file", 3, "async", 1024, 3),
)

#: One of each kind of stream, publisher and consumer.
SMOKE = (
    Cell("one", "file", 3, "sync", 1024, 3),
    Cell("per-app", "memory", 1, "async", 512, 3),
    Cell("one", "file", 3, "batch", 1024, 3),
    Cell("per-app", "file", 3, "async", 10240, 3, 1, 2, "pull"),
)

#: Messages of a group by profile: for synchronous publishers, for the others, and for 10 KB.
_COUNTS: dict[str, tuple[int, int, int]] = {
    "smoke": (200, 2_000, 500),
    "short": (500, 10_000, 2_000),
    "standard": (1_500, 20_000, 5_000),
    "soak": (1_500, 20_000, 5_000),
}


def chosen(profile: str, full: bool) -> list[Cell]:
    cells: Sequence[Cell] = (
        list(full_product()) if full else SMOKE if profile == "smoke" else (*EVALUATION, *BESIDE)
    )
    return [sized(cell, profile) for cell in cells]


def sized(cell: Cell, profile: str) -> Cell:
    one_by_one, many, large = _COUNTS[profile]
    modes: dict[Mode, int] = {"sync": one_by_one, "async": many, "batch": many}
    count = modes[cell.mode]
    return cell.resized(min(count, large) if cell.size >= 10240 else count)


def published(cell: Cell) -> Published | None:
    """The evaluation's figure for this cell, whatever the number of messages."""
    return EVALUATION.get(replace(cell, messages=Cell().messages))
