"""Bento as a process of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.infra.bento_http import get_ready
from bench.infra.binary import bento_binary
from bench.infra.local_service import LocalService
from bench.infra.ports import LOOPBACK
from bench.infra.private_file import write_private
from bench.setup.tools import BENTO_VERSION


class LocalBento(LocalService):
    name = "bento"
    _port_count = 1

    def __init__(self, configure: Callable[[str], str], secrets: Sequence[str]) -> None:
        """`configure` makes the configuration for the address at which Bento shall answer."""
        super().__init__()
        self._render = configure
        self._hidden = list(secrets)

    @property
    def address(self) -> str:
        self._leash()
        return f"{LOOPBACK}:{self._ports[0]}"

    def binary(self) -> Path:
        return bento_binary()

    def version(self) -> str:
        return BENTO_VERSION

    def _configure(self, folder: Path) -> list[str]:
        path = write_private(folder / "bento.yaml", self._render(self.address))
        return [str(self.binary()), "-c", str(path)]

    def _probe(self, timeout_s: float) -> None:
        get_ready(self.address, timeout_s)

    def _secrets(self) -> list[str]:
        return self._hidden
