"""What the statestore suite reports: outcomes, restores, tables, picture and page, out of made-up runs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from bench.statestore.book import StateStoreBook
from bench.statestore.load import Launch
from bench.statestore.outcome import outcome_of
from bench.statestore.restore import Cut, restore_of
from bench.statestore.tuning import TRIED, tuned
from bench.verdict import Verdict
from spark_jobs.statestore.processor import state_names, state_of
from spark_jobs.statestore.progress import state_line

LAUNCH = Launch(2, 100, "0badcafe", tasks=5)


def made_run(folder, batches=8):
    """Batches of a second each; the fifth took three."""
    folder.mkdir()
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "file").write_bytes(b"x" * 8_192)
    done_ms, lines, told = 0, [], []
    for number in range(batches):
        done_ms += 3_000 if number == 4 else 1_000
        stats = {
            "messages": 100,
            "bytes_put": 2_000_000,
            "gets": 50,
            "puts": 50,
            "removes": 0,
            "scanned": 0,
            "ms": 10.0,
            "start_ms": {"94": 40},
            "complete_ms": {"94": 40},
            "slot": "0.0",
            "totals": {},
        }
        lines.append({"batch_id": number, "done_ms": done_ms, "stats": [stats]})
        state = {"rocksdbTotalBytesWrittenByFlush": 1_000, "rocksdbSstFileSize": 4_000}
        told.append({"batch_id": number, "trigger_ms": 900, "state_commit_ms": 30, "state": state})
    for name, rows in (("batches.jsonl", lines), ("progress.jsonl", told)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def made_audit():
    truth = LAUNCH.truth
    kinds = [("workflow", "E", 2), ("taskrun", "C", 10)]
    totals = {
        "messages": truth.messages,
        "completes": 10,
        "late": 0,
        "stray": 0,
        "timers_set": 10,
        "timers_fired": 10,
        "set_print": truth.prints,
        "fired_print": truth.prints,
        "grown": 0,
    }
    return {
        "kinds": [
            {"kind": kind, "letter": letter, "count": count, "bytes": 1_000, "torn": 0, "print": 0}
            for kind, letter, count in kinds
        ],
        "totals": [totals],
        "workflows_that_differ": 0,
    }


def made_outcome(folder, **more):
    endings = [{"kind": "ended", "of": name} for name in LAUNCH.truth.workflows]
    settings = {"conf": (), "memory_bytes": 5_000_000}
    return outcome_of(
        "made up", folder, LAUNCH.truth, endings, made_audit(), LAUNCH.as_dict(), settings, **more
    )


def made_restore(cut, work=()):
    warm = [(2_000, 1_000_000, 9_000, 0)] * 2
    looks = [
        [(8, 1, 1_500, 700), (8, 1, 500, 5), (8, 1, 600, 5)],
        [(8, 1, 2_500, 900), (8, 1, 500, 5), (8, 1, 500, 5)],
    ]
    return restore_of(cut, [*warm, *work], [(50, 5_000_000, 800, 0)], looks, {})


def test_a_run_is_measured_without_its_warm_up(tmp_path):
    """The first batches, in which the JVM compiles, would be told as its speed."""
    outcome = made_outcome(made_run(tmp_path / "run"))
    assert outcome.report.verdict is Verdict.PASS
    assert outcome.measured.messages == 400
    assert outcome.measured.seconds == 6.0
    assert outcome.measured.pause_ms_max == 3_000
    assert outcome.disk.put_bytes == 16_000_000
    assert outcome.disk.written_bytes == 8_000
    assert outcome.disk.disk_share == pytest.approx(outcome.disk.checkpoint_bytes / 2_000)


def test_paced_batches_are_told_apart(tmp_path):
    """Latencies of a backlog would be told as those of a task."""
    outcome = made_outcome(made_run(tmp_path / "run"), paced_from_ms=7_500, paced_per_s=100.0)
    assert outcome.paced.messages == 100
    assert outcome.paced.start_ms_p50 == pytest.approx(98, rel=0.03)
    assert outcome.measured.messages + outcome.paced.messages < 800


def test_a_restore_is_what_the_first_batch_took_beyond_the_others():
    """The cost of every batch would be told as that of the restore."""
    row = made_restore(Cut("variables", with_work=True), [(2_000, 4_000_000, 1_000, 0)])
    assert (row.restore_s, row.first_s, row.load_s) == (1.475, 2.0, 0.8)
    assert (row.messages_per_s, row.mb_per_s) == (2_000, 4.0)
    assert restore_of(Cut(), [], [(50, 1, 1, 0)], [[(8, 1, 9, 7), (8, 1, 5, 0)]], {}).messages_per_s is None


def test_the_book_is_whole(tmp_path):
    """A session would leave half a report, or a picture that nobody can open."""
    book = StateStoreBook(tmp_path / "book")
    assert book.empty()
    outcome = made_outcome(made_run(tmp_path / "run"), paced_from_ms=6_500, paced_per_s=100.0)
    book.note(outcome)
    book.restores.append(made_restore(Cut()))
    book.tuned.append(tuned(outcome))
    page = book.write()
    ElementTree.fromstring((tmp_path / "book" / "statestore.svg").read_text())
    assert "One partition, one big store" in page.read_text()
    text = (tmp_path / "book" / "statestore.md").read_text()
    for title in ("Full speed", "Latency", "On disk", "Ledger", "Restore", "Settings"):
        assert f"### {title}" in text
    kept = json.loads((tmp_path / "book" / "statestore.json").read_text())
    assert kept["scenarios"][0]["verdict"] == "PASS"


def test_the_chosen_settings_come_first():
    """The table would compare with something that nobody runs."""
    assert next(iter(TRIED.values())) == {}
    assert all("=" in pair for changed in TRIED.values() for pair in changed.get("conf", ()))


def test_two_dozen_states_share_the_keys():
    """A key would be read from another state than it was written to, or timers not lie together."""
    names = state_names("variables")
    assert len(names) == 24
    keys = [f"taskrun/0badcafe-00000001/{task:03d}" for task in range(500)]
    assert {state_of("variables", key) for key in keys} == set(names[1:])
    assert state_of("variables", "t/00000000000/0000000000") == names[0]
    assert state_of("one", keys[0]) == "store"


def test_a_batchs_state_is_summed_over_its_operators():
    """Two dozen stores would be told as one of them."""
    state = {"commitTimeMs": 3, "memoryUsedBytes": 10, "customMetrics": {"rocksdbLoadLatencyMs": 7}}
    progress = {
        "batchId": 1,
        "timestamp": "t",
        "numInputRows": 5,
        "durationMs": {"triggerExecution": 9},
        "sources": [{"endOffset": {"seq": 4}, "latestOffset": {"seq": 9}}],
        "sink": {},
        "stateOperators": [state, state],
    }
    line = state_line(progress)
    assert (line["state_commit_ms"], line["state"]["rocksdbLoadLatencyMs"], line["backlog"]) == (6, 14, 5)
