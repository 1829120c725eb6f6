"""The Spark session of every job here, with the settings that were measured (docs/performance.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from spark_jobs.jetstream import JetStreamSource
from spark_jobs.package import package_for_executors
from spark_jobs.tidb_sink import TidbSink

_STREAMING = "org.apache.spark.sql.execution.streaming"

_JVM = "-XX:+UseParallelGC"

#: Each can be overridden.
DEFAULTS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # Two tasks beat one and four on two cores; with more cores, raise it (it is fixed in the checkpoint).
    "spark.sql.shuffle.partitions": "2",
    # The default manager forks dozens of processes a batch on a local disk: 80 ms of a batch, against 15.
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # Small heaps, short batches: G1's barriers and threads took a quarter of the JVM's CPU on two cores.
    "spark.driver.extraJavaOptions": _JVM,
    "spark.executor.extraJavaOptions": _JVM,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The job tells an error in one line; for the rest of the story set it to WARN.
    "spark.log.level": "FATAL",
    # Over TCP the JVM's second write to a worker waits for the delayed acknowledgement of its first: 40 ms a
    # task, most of what a small batch takes.
    # Spark (4.3) then tells of a broken pipe when it ends a worker that was idle for a minute: no fault.
    "spark.python.unix.domain.socket.enabled": "true",
    # A worker that lives on keeps its connection to the server.
    "spark.python.worker.reuse": "true",
}
_LOCAL: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def settings(master: str, given: Mapping[str, str]) -> dict[str, str]:
    local = _LOCAL if master.startswith("local") else {}
    return {**DEFAULTS, **local, **given}


def build_session(name: str, master: str | None, given: Mapping[str, str]) -> SparkSession:
    """A session that knows the formats jetstream and tidb; `master` None leaves it to spark-submit."""
    if master is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        master = "local[*]"  # not started by spark-submit, so nobody else says it
    if (master or "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The workers must be the interpreter that has pyarrow and orjson, not whatever python3 is on their PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in settings(master or "", given).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    archive = package_for_executors()
    if archive is not None:
        session.sparkContext.addPyFile(str(archive))
    session.dataSource.register(JetStreamSource)
    session.dataSource.register(TidbSink)
    return session
