"""One group's clients, in a process of their own: `python -m bench.transport.group FOLDER`.

The folder holds spec.json; NATS's password comes by environment. The process connects, writes `ready`, waits
for `go` (the start in monotonic ns), runs one event loop over all its connections, and writes result.json. In
open loop it also appends a line to progress.jsonl every second, which is what a soak's checkpoint is made of.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from bench.latency import LatencyRecorder, LatencySummary
from bench.schedule import ConstantRate, Unpaced
from bench.transport import publisher, subscriber
from bench.transport.cell import Cell
from bench.transport.frames import Address
from bench.transport.publisher import Publisher
from bench.transport.subscriber import Subscriber
from bench.wire.connection import Connection, Server
from bench.wire.errors import WireError

PASSWORD_VARIABLE = "JETLAG_TRANSPORT_PASSWORD"
#: To digest a few messages costs as much as to digest a thousand, so small heaps may wait this long.
DIGEST_EVERY_NS = 500_000_000
#: Once all is published, the end is looked for more often.
LAST_DIGESTS_EVERY_NS = 50_000_000
#: A group's first subscriber is read as bytes come, and latency is its; the others are read this often. To
#: read each message of each at once would cost more CPU than the publishing that is measured: every 20 ms was
#: 17,000 to 22,000 messages of 512 B a second where this is 23,000 to 30,000, on two cores
#: shared with the servers.
DRAIN_EVERY_NS = 150_000_000
#: Once all is published there is nothing that reading could disturb.
LAST_DRAINS_EVERY_NS = 5_000_000
#: As much as the kernel keeps unread of a subscriber. With room for everything the server delivers a whole
#: cell while it is published, and publishing pays for it: see docs/transport.md.
UNREAD_MESSAGES = 128
UNREAD_BYTES = 512 * 1024
PROGRESS_EVERY_NS = 1_000_000_000
#: After the last acknowledgement, messages may come late; nothing for this long means that nothing will.
QUIET_NS = 5_000_000_000
BARRIER_TIMEOUT_S = 60.0
#: In open loop messages go out in bursts this far apart at most.
TICK_S = 0.002


@dataclass(frozen=True)
class Spec:
    cell: Cell
    group: int
    host: str
    port: int
    user: str
    inbox: str
    timeout_s: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Spec:
        return cls(**{**content, "cell": Cell(**content["cell"])})


class Group:
    def __init__(self, spec: Spec, password: str) -> None:
        self._spec = spec
        self._server = Server(spec.host, spec.port, spec.user, password)
        cell = spec.cell
        self._totals = [cell.share(number) for number in range(cell.publishers)]
        stream, subject = cell.stream(spec.group), cell.subject(spec.group)
        kind = subscriber.KINDS[cell.consumers]
        self.subscribers: list[Subscriber] = [
            kind(self._connect_reader, stream, subject, self._totals) for _ in range(cell.subscribers)
        ]
        for one in self.subscribers[:1]:
            one.prompt = True
        self.publishers: list[Publisher] = []
        self._cpu_before_s = 0.0
        self._check_payload()

    def _check_payload(self) -> None:
        """Told before the first message: the server would close the connection on it."""
        connection = self._connect("payload")
        connection.close()
        if self._spec.cell.size > connection.max_payload:
            raise WireError(
                f"a message of {self._spec.cell.size} bytes: "
                f"the server takes at most {connection.max_payload} (max_payload)"
            )

    def _connect(self, name: str) -> Connection:
        return Connection(self._server, f"jetlag-transport-{name}")

    def _connect_reader(self, name: str) -> Connection:
        unread_bytes = min(UNREAD_BYTES, UNREAD_MESSAGES * self._spec.cell.size)
        return Connection(self._server, f"jetlag-transport-{name}", receive_bytes=unread_bytes)

    def prepare(self, start_ns: int) -> None:
        """Publishers are made when the start is known: their schedule counts from it."""
        cell, group = self._spec.cell, self._spec.group
        for number, total in enumerate(self._totals):
            rate = cell.rate_per_s
            schedule = (
                Unpaced(start_ns) if rate is None else ConstantRate(start_ns, max(1, rate // cell.publishers))
            )
            inbox = f"_INBOX.{self._spec.inbox}{group}p{number}"
            address = Address(cell.subject(group), inbox, number, total, cell.size)
            self.publishers.append(
                publisher.KINDS[cell.mode](
                    self._connect("publisher"), address, cell.stream(group), total, cell.window, schedule
                )
            )

    # -- the loop ------------------------------------------------------------

    def run(self, start_ns: int, progress: Path | None) -> str:
        """Until all is published and received, or nothing more comes; returns why it ended early, if so."""
        self._cpu_before_s = _cpu_s()  # without the start of Python, which costs as much as 10,000 messages
        poll = select.epoll()
        readers = {one.connection.fileno(): one for one in self.subscribers if one.prompt}
        for descriptor in (*(one.connection.fileno() for one in self.publishers), *readers):
            poll.register(descriptor, select.EPOLLIN)
        deadline_ns = start_ns + int(self._spec.timeout_s * 1e9)
        drain_ns = start_ns
        digest_ns, progress_ns, heard = start_ns, start_ns + PROGRESS_EVERY_NS, (start_ns, -1)
        while True:
            events = poll.poll(self._patience_s())
            now_ns = time.monotonic_ns()
            for descriptor, _ in events:
                if descriptor in readers and readers[descriptor].on_readable():
                    self._serve(time.monotonic_ns())
            self._serve(now_ns)
            if now_ns >= drain_ns:
                drain_ns = now_ns + self._drain_every_ns()
                self._drain()
            if now_ns < digest_ns:
                continue
            digest_ns = now_ns + (LAST_DIGESTS_EVERY_NS if self._all_published() else DIGEST_EVERY_NS)
            for one_reader in self.subscribers:
                one_reader.digest()
                self._serve(time.monotonic_ns())
            if progress is not None and now_ns >= progress_ns:
                progress_ns += PROGRESS_EVERY_NS
                self._note(progress, start_ns, now_ns)
            moved = sum(s.ledger.received for s in self.subscribers) + sum(p.settled for p in self.publishers)
            heard = heard if heard[1] == moved else (now_ns, moved)
            if self._complete():
                return ""
            if now_ns > deadline_ns or (self._all_published() and now_ns - heard[0] > QUIET_NS):
                return f"ended with messages missing after {(now_ns - start_ns) / 1e9:.1f} s"

    def _drain_every_ns(self) -> int:
        return LAST_DRAINS_EVERY_NS if self._all_published() else DRAIN_EVERY_NS

    def _drain(self) -> None:
        for one in self.subscribers:
            if not one.prompt and one.on_readable():
                self._serve(time.monotonic_ns())

    def _serve(self, now_ns: int) -> None:
        """Publishers come first, also between two digests: an answer unread is a pause in publishing."""
        for one in self.publishers:
            if not one.done:
                one.on_readable(now_ns)
                one.pump(now_ns)

    def _patience_s(self) -> float:
        if any(one.blocked for one in self.publishers):
            return 0.001
        if self._spec.cell.rate_per_s is None:
            return self._drain_every_ns() / 1e9
        now_ns = time.monotonic_ns()
        due = [at for one in self.publishers if (at := one.next_due_ns()) is not None]
        ahead_s = (min(due) - now_ns) / 1e9 if due else 0.05
        return min(max(ahead_s, TICK_S), DRAIN_EVERY_NS / 1e9)

    def _all_published(self) -> bool:
        return all(one.done for one in self.publishers)

    def _complete(self) -> bool:
        wanted = sum(one.acked for one in self.publishers)
        return self._all_published() and all(one.ledger.received >= wanted for one in self.subscribers)

    def _note(self, path: Path, start_ns: int, now_ns: int) -> None:
        interval = _merged([one.latency.take_interval() for one in self.subscribers if one.prompt])
        line = {
            "t_s": round((now_ns - start_ns) / 1e9, 3),
            "sent": sum(one.sent for one in self.publishers),
            "acked": sum(one.acked for one in self.publishers),
            "received_min": min((one.ledger.received for one in self.subscribers), default=0),
            "p50_us": interval.percentile_us(50),
            "p99_us": interval.percentile_us(99),
            "max_us": interval.percentile_us(100),
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    # -- the account ---------------------------------------------------------

    def result(self, ended: str) -> dict[str, Any]:
        published = [one.acked for one in self.publishers]
        histogram = _merged([one.latency.total.histogram for one in self.subscribers]).histogram
        return {
            "group": self._spec.group,
            "ended": ended,
            "publishers": [one.result() for one in self.publishers],
            "subscribers": [one.result(published) for one in self.subscribers],
            "latency": histogram.encode().decode(),
            "cpu_s": _cpu_s() - self._cpu_before_s,
        }

    def close(self) -> None:
        for connection in self._connections():
            connection.close()

    def _connections(self) -> list[Connection]:
        return [*(one.connection for one in self.publishers), *(one.connection for one in self.subscribers)]


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _merged(histograms: list[HdrHistogram]) -> LatencySummary:
    whole = LatencyRecorder().take_interval()
    for histogram in histograms:
        if histogram.get_total_count():
            whole.add(histogram)
    return LatencySummary(whole)


def _wait_for(path: Path) -> int:
    deadline = time.monotonic() + BARRIER_TIMEOUT_S
    while time.monotonic() < deadline:
        if path.exists():
            return int(path.read_text())
        time.sleep(0.01)
    raise TimeoutError(f"nobody said go within {BARRIER_TIMEOUT_S:g} s")


def write_whole(path: Path, content: dict[str, Any]) -> None:
    """A reader finds all of it or nothing."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content))
    partial.replace(path)


def main() -> int:
    folder = Path(sys.argv[1])
    spec = Spec.from_dict(json.loads((folder / "spec.json").read_text()))
    try:
        group = Group(spec, os.environ[PASSWORD_VARIABLE])
        write_whole(folder / "ready", {"group": spec.group})
        start_ns = _wait_for(folder / "go")
        group.prepare(start_ns)
        ended = group.run(start_ns, folder / "progress.jsonl" if spec.cell.rate_per_s else None)
        write_whole(folder / "result.json", group.result(ended))
        group.close()
    except (WireError, OSError, TimeoutError) as error:
        write_whole(
            folder / "result.json", {"group": spec.group, "error": f"{type(error).__name__}: {error}"}
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
