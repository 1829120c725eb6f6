"""A wire tap: passes bytes between a client and a real server, and keeps what the client sent."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class RecordingProxy:
    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._sent = bytearray()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> RecordingProxy:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._accepting.join(5)

    def sent(self) -> bytes:
        with self._lock:
            return bytes(self._sent)

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                for source, target, kept in ((client, server, self._sent), (server, client, None)):
                    threading.Thread(target=self._pass, args=(source, target, kept), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, kept: bytearray | None) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if kept is not None:
                    with self._lock:
                        kept += data
                target.sendall(data)
