"""Exit codes beyond pytest's own, which end at 5: a CI acts on each differently."""

from __future__ import annotations

#: A run could not be measured, or too little of it to compare: repeat it, nothing is proven.
INVALID = 7
#: Every gate held, yet the run is worse than its baseline.
REGRESSION = 8
#: Nothing to compare with: the first night, or a baseline of another machine, case version or setting.
NO_BASELINE = 9
