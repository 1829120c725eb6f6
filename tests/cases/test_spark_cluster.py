"""Case C on a standalone Spark cluster of two workers: the same job, unchanged, on other processes."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from bench.cases import case_c
from bench.engine.spark import SparkEngine, SparkSettings
from bench.engine_pipeline import EngineCase
from bench.infra.leashed import Leashed
from bench.infra.ports import free_ports
from bench.infra.waiting import wait_until
from bench.pipeline_c import PipelineC

pytestmark = pytest.mark.infra

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"
QUIET = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}


def start(name: str, words: list[str], said: str) -> Leashed:
    """A daemon of the cluster, ready when its log says so."""
    leashed = Leashed(name)
    try:
        log = leashed.folder / "log"
        env = {**QUIET, "SPARK_WORKER_DIR": str(leashed.folder / "work")}
        leashed.start([str(SPARK_CLASS), *words], log, env)
        wait_until(lambda: said in log.read_text(), 90, lambda: f"{name}: {log.read_text()[-2000:]}")
    except BaseException:
        leashed.close()
        raise
    return leashed


@pytest.fixture
def cluster():
    """The URL of a master with two workers of one core each."""
    port, web_port = free_ports(2)
    url = f"spark://127.0.0.1:{port}"
    address = ["--host", "127.0.0.1"]
    daemons: list[Leashed] = []
    try:
        master = [f"{DEPLOY}.master.Master", *address, "--port", str(port), "--webui-port", str(web_port)]
        daemons.append(start("spark-master", master, "New state: ALIVE"))
        for number in range(2):
            worker = [f"{DEPLOY}.worker.Worker", *address, "--webui-port", "0", "-c", "1", "-m", "1g", url]
            daemons.append(start(f"spark-worker-{number}", worker, "Successfully registered with master"))
        yield url
    finally:
        for daemon in reversed(daemons):
            daemon.close()


def test_case_c_on_two_workers(settings, nats_stack, run, cluster, tmp_path):
    """The job would lean on the driver's process or files, and break on any real cluster."""
    conf = (
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.executor.memory=512m",
        "spark.executor.cores=1",
    )
    engine = SparkEngine(SparkSettings(master=cluster, checkpoint=str(tmp_path / "checkpoint"), conf=conf))
    builder = EngineCase(engine, PipelineC)
    outcome = run(case_c(settings, "spark"), nats_stack, builder=builder, reports_dir=tmp_path, listed=False)
    account = outcome.account
    assert account.expected == account.seen == outcome.case.load.total
    assert (account.lost, account.duplicates, account.wrong, account.unexpected) == (0, 0, 0, 0)
    assert outcome.metrics["engine_down"] == 0
