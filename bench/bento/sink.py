"""Case E's way into TiDB: Bento in the writer's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.bento.config import nats_url, render, tidb_dsn
from bench.bento.process import BentoProcess
from bench.contract.names import Durable
from bench.infra.endpoint import NatsEndpoint, TidbEndpoint, secrets_of

CONFIG = "sink.yaml"


@dataclass(frozen=True)
class SinkJob:
    run_id: str
    variant: str
    durable: Durable
    nats: NatsEndpoint
    tidb: TidbEndpoint


class BentoSink(BentoProcess):
    name = "bento"

    def __init__(self, image: str | None = None, ack_wait_s: int = 30) -> None:
        """What Bento had not acknowledged when it died is delivered again after `ack_wait_s`."""
        super().__init__(image)
        self._ack_wait_s = ack_wait_s

    def deploy(self, job: SinkJob) -> None:
        self.launch(
            lambda address: sink_config(job, address, self._ack_wait_s), secrets_of(job.nats, job.tidb)
        )

    def settings(self) -> dict[str, Any]:
        return {
            "name": "bento",
            **self.build(),
            "batch_rows": 500,
            "batch_ms": 50,
            "max_in_flight": 4,
            "max_ack_pending": 8192,
            "ack_wait_s": self._ack_wait_s,
        }


def sink_config(job: SinkJob, address: str, ack_wait_s: int) -> str:
    return render(
        CONFIG,
        {
            "HTTP_ADDRESS": address,
            "NATS_URL": nats_url(job.nats),
            "TIDB_DSN": tidb_dsn(job.tidb),
            "DURABLE": job.durable.name,
            "RESULTS_FILTER": job.durable.filter_subject,
            "RUN_ID": job.run_id,
            "VARIANT": job.variant,
            "ACK_WAIT": f"{ack_wait_s}s",
        },
    )
