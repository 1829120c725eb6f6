"""The transport suite's cells, its reading of `nats bench`, and its tables."""

from __future__ import annotations

from bench.latency import LatencyRecorder
from bench.transport.cell import Cell, full_product
from bench.transport.choice import BESIDE, EVALUATION, chosen, published
from bench.transport.outcome import Turn, judge
from bench.transport.peer import PeerRates, aggregate_rate, client_rates
from bench.transport.tables import cells_table, peers_table
from bench.verdict import Verdict

REPORT = """
NATS JetStream synchronous publisher aggregated stats: 1,973 msgs/sec ~ 1.9 MiB/sec ~ 1.0us
 [1] 986 msgs/sec ~ 960 KiB/sec (5000 msgs)
 [2] 1,001 msgs/sec ~ 960 KiB/sec (5000 msgs)
 message rates min 986 | avg 993 | max 1,001 | stddev 7 msgs
"""


def test_the_report_of_nats_bench_is_read():
    """Our rates would be compared with the wrong line of the peer's."""
    assert aggregate_rate(REPORT) == 1973
    assert client_rates(REPORT) == [986, 1001]


def test_the_product_is_whole_and_its_names_are_one_to_one():
    """Cells would be left out, or two would share a name and overwrite each other's result."""
    cells = list(full_product())
    assert len(cells) == len({cell.name for cell in cells}) == 2 * 2 * 2 * 3 * 3 * 2 * 2 * 2


def test_the_published_cells_are_in_the_product():
    """The figures beside ours would belong to cells that cannot be run."""
    assert {*EVALUATION, *BESIDE} <= set(full_product())
    assert all(published(cell) for cell in chosen("standard", full=False)[: len(EVALUATION)])


def test_shares_add_up():
    """A group would publish more or fewer messages than its subscribers wait for."""
    cell = Cell(publishers=3, messages=10)
    assert [cell.share(number) for number in range(3)] == [4, 3, 3]


def group(received: int = 100, lost: int = 0) -> dict:
    empty = LatencyRecorder().take_interval().encode().decode()
    times = {"first_send_ns": 1, "last_ack_ns": 10**9 + 1}
    return {
        "group": 0,
        "publishers": [{"total": 50, "sent": 50, "acked": 50, "refused": {}, **times}] * 2,
        "subscribers": [
            {
                "received": received,
                "lost": lost,
                "duplicates": 0,
                "out_of_order": 0,
                "unexpected": 0,
                "recreated": 0,
                "first_ns": 1,
                "last_ns": 10**9 + 1,
            }
        ],
        "latency": empty,
        "cpu_s": 1.0,
    }


def outcome(peer: PeerRates | None = None, **spoiled: int):
    cell = Cell(size=10240, messages=100)  # one that has published figures
    turn = Turn([group(**spoiled)], 100, 110_000, 2.0, {"meta_leader": "n1", "streams": {}})
    return judge(cell, [turn, turn], "2m", [peer, peer] if peer else [])


def test_rates_and_ratios_are_those_of_the_cell():
    """A ratio would compare a publisher of ours with all of the peer's."""
    result = outcome(PeerRates((40.0, 40.0), (80.0,), 80.0))
    assert result.report.verdict is Verdict.PASS
    assert result.metrics["published_per_s"] == 100
    assert result.metrics["publisher_per_s"] == 50
    assert result.metrics["publish_ratio"] == 1.25
    assert result.metrics["stored_bytes"] == 660_000
    assert peers_table([result])[2].split("|")[3:5] == [" 80 ", " 1.25 "]


def test_a_loss_turns_the_cell_red():
    """A subscriber that missed a message would stand in the table as a pass."""
    assert outcome(received=99, lost=1).report.verdict is Verdict.FAIL


def test_tables_have_a_dash_for_what_was_not_measured():
    """A cell without a peer would show a ratio that nobody measured."""
    result = outcome()
    assert all(row.count("|") == cells_table([result])[0].count("|") for row in cells_table([result]))
    assert peers_table([result])[2].split("|")[3].strip() == "-"
