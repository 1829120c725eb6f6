"""Stop a query while it rests between two micro-batches, and Spark without a word.

A batch that is cut off is run again from the checkpoint: this is for a clean log, not for the data. The
process in which a Python source plans tells of a broken pipe when the JVM goes away in the middle of one.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

_WITHIN_S = 3.0
#: For so long only a rest that will last is good enough; a busy query may have none.
_CHOOSY_S = 1.0
_REST_MS = 30
_POLL_S = 0.005


def stop_between_batches(spark: SparkSession, query: StreamingQuery, trigger_ms: int) -> None:
    # Before the wait, as it takes long enough for the next batch to begin.
    spark.sparkContext.setLogLevel("OFF")
    begun = time.monotonic()
    while query.isActive and (waited_s := time.monotonic() - begun) < _WITHIN_S:
        rests = not query.status["isTriggerActive"]
        if rests and (waited_s > _CHOOSY_S or _ms_to_next_trigger(trigger_ms) > _REST_MS):
            break
        time.sleep(_POLL_S)
    query.stop()


def stop_silently(spark: SparkSession) -> None:
    """Spark closes its workers' sockets and ends them a moment later; over Unix sockets a worker that is
    quick enough (4.3) tells of a broken pipe meanwhile, with a traceback. Errors of the job are the driver's
    to tell, and that is another process.
    """
    with suppress(Py4JError, OSError):  # a JVM that is gone says nothing anyway
        spark.sparkContext._jvm.java.lang.System.err.close()  # type: ignore[union-attr]
    spark.stop()


def _ms_to_next_trigger(trigger_ms: int) -> float:
    """Spark triggers at whole multiples of the interval since the epoch; without one no rest is better than
    another, and to wait for such would be for nothing.
    """
    return trigger_ms - time.time() * 1000 % trigger_ms if trigger_ms else math.inf
