"""The report of a pytest session: one page for people, and the same figures for machines.

Goals: every format tells the same numbers (they are taken once, in row.py); a run cut off in the middle
still gives a report; nothing that a run wrote can become markup or leave the page. Non-goals: judging
(gates.py did that) and comparing runs with each other.
"""

from __future__ import annotations

from bench.report.not_run import NotRun
from bench.report.write import write_report

__all__ = ["NotRun", "write_report"]
