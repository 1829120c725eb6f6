"""When a query is stopped: in the middle of a micro-batch its workers would tell of broken pipes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spark_jobs import stopping

TRIGGER_MS = 200


class Query:
    """Its batches take so many milliseconds, and begin when Spark's would."""

    isActive = True  # noqa: N815 - Spark's name

    def __init__(self, monkeypatch: pytest.MonkeyPatch, batch_ms: float, begun_ms: float) -> None:
        self._now_ms, self._batch_ms, self.stopped_ms = begun_ms, batch_ms, -1.0
        clock = SimpleNamespace(monotonic=self._now_s, time=self._now_s, sleep=self._sleep)
        monkeypatch.setattr(stopping, "time", clock)

    def _now_s(self) -> float:
        return self._now_ms / 1000

    def _sleep(self, seconds: float) -> None:
        self._now_ms += seconds * 1000

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self._now_ms % TRIGGER_MS < self._batch_ms}

    def stop(self) -> None:
        self.stopped_ms = self._now_ms


def stopped(
    monkeypatch: pytest.MonkeyPatch, batch_ms: float, begun_ms: float, trigger_ms: int = TRIGGER_MS
) -> tuple[float, float]:
    """How long it waited, and how far into the interval it stopped."""
    query = Query(monkeypatch, batch_ms, begun_ms)
    spark = SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda _level: query._sleep(0.02)))
    stopping.stop_between_batches(spark, query, trigger_ms)  # type: ignore[arg-type]
    return query.stopped_ms - begun_ms, query.stopped_ms % TRIGGER_MS


@pytest.mark.parametrize("begun_ms", [1_000, 1_050, 1_110, 1_165, 1_185])
def test_it_stops_in_a_rest_that_lasts(monkeypatch: pytest.MonkeyPatch, begun_ms: float) -> None:
    """Just before a trigger, the next batch would begin while the query is being stopped."""
    waited_ms, at_ms = stopped(monkeypatch, 100, begun_ms)
    assert 100 <= at_ms < 170
    assert waited_ms < 2 * TRIGGER_MS


def test_a_short_rest_is_taken_when_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait to its end, and then stop in the middle of a batch."""
    waited_ms, at_ms = stopped(monkeypatch, 185, 1_000)
    assert at_ms >= 185
    assert 1_000 < waited_ms < 1_500


def test_without_an_interval_the_first_rest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every such job would take a second longer to stop."""
    waited_ms, at_ms = stopped(monkeypatch, 185, 1_000, trigger_ms=0)
    assert at_ms >= 185
    assert waited_ms < TRIGGER_MS


def test_a_query_without_rest_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job would never end."""
    waited_ms, _ = stopped(monkeypatch, TRIGGER_MS, 1_000)
    assert 3_000 <= waited_ms < 3_100


def test_what_spark_says_while_it_stops_is_not_told() -> None:
    """Now and then a job that ended well would leave a traceback behind."""
    did: list[str] = []
    err = SimpleNamespace(close=lambda: did.append("close stderr"))
    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=SimpleNamespace(err=err))))
    spark = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm), stop=lambda: did.append("stop"))
    stopping.stop_silently(spark)  # type: ignore[arg-type]
    assert did == ["close stderr", "stop"]


def test_a_spark_that_is_gone_is_stopped_without_a_second_error() -> None:
    """The job's own error would be buried under that of a connection."""
    did: list[str] = []

    class Gone:
        @property
        def _jvm(self) -> None:
            raise ConnectionRefusedError

    stopping.stop_silently(SimpleNamespace(sparkContext=Gone(), stop=lambda: did.append("stop")))  # type: ignore[arg-type]
    assert did == ["stop"]
