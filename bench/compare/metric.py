"""What is compared, in which direction it is better, and which change would matter to anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    name: str
    better: Better
    #: A change by a smaller share of the base is none that anybody would act on.
    threshold_share: float
    #: Nor is one by less than this, in the metric's own unit: 0.3 ms more on 0.6 ms is half as much again.
    floor: float = 0.0
    #: Which of a run's samples stands for the run where runs are counted. What disturbs a machine only ever
    #: adds to a latency, so its quieter quarter tells the code's own; what stalls now and then shows in p99.
    quantile: float = 0.5
    #: Counts from the intended time, so what the producer itself was late is part of it.
    holds_slip: bool = False


#: The producer's own lateness: the same drivers on the same machine, so its change is the machine's doing.
SLIP = "slip_ms_p99"


#: For five runs a side or more; with fewer they double (docs/comparing.md has what the same code shows).
METRICS = (
    Metric("latency_ms_p50", "lower", 0.10, floor=1.0, quantile=0.25, holds_slip=True),
    Metric("latency_ms_p99", "lower", 0.25, floor=10.0, holds_slip=True),
    Metric("lag_max", "lower", 0.25),
    Metric("output_rate_per_s", "higher", 0.05),
    Metric("cpu_s_per_million", "lower", 0.20),
)

#: Counts that are exact: one more is one too many, no statistics needed.
EXACT = ("lost", "duplicates", "unexpected", "wrong", "late")
