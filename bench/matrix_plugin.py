"""pytest hooks of --matrix: which tests, in which order, at which rates, and where the plan stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench.matrix import MatrixPlan, Planned, planned
from bench.session import Session
from bench.settings import Settings

_ORDER = [f"test_case_{letter}" for letter in "abcdef"]
#: Case B's rate is rows, a handful for each thousand events: a sweep of events leaves it alone.
_NOT_SWEPT = "b"


class MatrixPlugin:
    """`swept` are the settings at each rate of --matrix-rates; empty without a sweep."""

    def __init__(self, session: Session, settings: Settings, swept: Sequence[Settings], variant: str) -> None:
        self._session = session
        self._settings = settings
        self._swept = swept
        self._variant = variant

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        name = metafunc.function.__name__
        if self._swept and name in _ORDER and not name.endswith(_NOT_SWEPT):
            ids = [f"{settings.rate_per_s}/s" for settings in self._swept]
            metafunc.parametrize("settings", self._swept, indirect=True, ids=ids, scope="session")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Only the cases themselves, A to F: not the tests that spoil and break them."""
        chosen = [item for item in items if _function(item) in _ORDER]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = sorted(chosen, key=lambda item: _ORDER.index(_function(item)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What -m and -k left over is the plan."""
        self._session.plan = MatrixPlan([self._planned(item) for item in session.items])

    def _planned(self, item: pytest.Item) -> Planned:
        params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        letter = _function(item)[-1].upper()
        variant = str(params.get("engine", self._variant))
        return planned(item.nodeid, letter, variant, params.get("settings", self._settings))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self._session.plan is not None:
            self._session.plan.start(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._session.plan is not None and report.skipped:
            self._session.plan.skip(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._session.plan is not None:
            self._session.plan.finish(nodeid)


def _function(item: pytest.Item) -> str:
    return item.name.split("[")[0]
