"""report.html in a real browser: headless Chromium, spoken to over its debugging pipe."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.history import Entry, likeness
from bench.latency import HlogWriter, LatencyRecorder
from bench.report import NotRun, write_report
from bench.report.folder import read_run
from bench.report.trend_section import Trend
from bench.trend import trends_of

pytestmark = pytest.mark.infra

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
]  # fmt: skip
HOSTILE = "</script><script>document.title='owned'</script><img src=http://example.com/x onerror=alert(1)>"
ANSWER_S = 60.0
PLOTS = "[...document.querySelectorAll('.plot')]"


class Browser:
    """One page. Every event is kept: requests, console messages and exceptions are read from there."""

    def __init__(self, profile: Path) -> None:
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        self._process = subprocess.Popen(
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=lambda: _as_3_and_4(to_child, from_child),
        )
        os.close(to_child)
        os.close(from_child)
        self._ids = itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"Chromium said nothing for {ANSWER_S:g} s"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, f"Chromium ended with {self._process.poll()}"
            self._unread += chunk
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, page: Path) -> None:
        self.ask("Page.navigate", url=page.as_uri())
        self.wait("document.readyState === 'complete'")
        with contextlib.suppress(AssertionError):  # what is not drawn in time is for the tests to find
            self.wait(f"{PLOTS}.every(plot => plot.querySelector('canvas'))")

    def js(self, expression: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, f"{expression}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        deadline = time.monotonic() + 10
        while not self.js(condition):
            assert time.monotonic() < deadline, f"not within 10 s: {condition}"
            time.sleep(0.02)

    def width(self, pixels: int) -> None:
        size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def press(self, key: str) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def seen(self, method: str) -> list[dict[str, Any]]:
        self.js("1")  # an answer comes after all events before it
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self) -> list[object]:
        """Exceptions, console warnings and errors, and what the browser itself logged (policy violations)."""
        said = [one for one in self.seen("Runtime.consoleAPICalled") if one["type"] in ("error", "warning")]
        return [*self.seen("Runtime.exceptionThrown"), *said, *self.seen("Log.entryAdded")]

    def close(self) -> None:
        self._session = None
        with contextlib.suppress(OSError, AssertionError):
            self.ask("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)


def _as_3_and_4(reading: int, writing: int) -> None:
    """Chromium reads commands from descriptor 3 and writes to 4; by way of others, for one may be 3 or 4."""
    spare = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (reading, writing)]
    for descriptor, place in zip(spare, (3, 4), strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a run with windows, an outage and hostile names, one row that was not run, and a trend."""
    base = tmp_path_factory.mktemp("report")
    folder = base / "C-spark-1"
    folder.mkdir()
    seconds = range(1, 41)
    metrics = [
        {"t_s": t, "out_t_s": t + 0.02, "phase": "measure", "prod_rate": 1000, "out_rate": 990.5,
         "lag": 500 + 1000 * (t % 10), "p95_ms": 20.0 if t % 10 == 1 else None,
         "p99_ms": 30.0 if t % 10 == 1 else None, "slip_p99_ms": 1.5}
        for t in seconds
    ]  # fmt: skip
    progress = [{"kind": HOSTILE, "t_s": t, "trigger_ms": 400 + t, "rows": 1000 + t} for t in seconds]
    usage = [{"t_s": t, "name": HOSTILE, "cpu_s": t * 0.4, "rss_bytes": 10**8} for t in seconds]
    _write_lines(folder / "metrics.jsonl", [*metrics, *progress])
    _write_lines(folder / "resources.jsonl", usage)
    recorder = LatencyRecorder()
    with HlogWriter(folder / "latency.hlog", 1_700_000_000.0) as log:
        for t in seconds:
            for tag in ("measure", "window_end_to_stored"):
                recorder.record(np.full(100, 2000 * t, np.int64))
                log.write(tag, recorder.take_interval(), 1_700_000_000.0 + t - 1, 1_700_000_000.0 + t)
    result = {
        "run_id": HOSTILE, "case": "C", "variant": "spark", "verdict": "PASS",
        "metrics": {"producer_rate_per_s": 1000.0, "output_rate_per_s": 990.5, "lag_max": 9500},
        "latency_us": {"count": 4000, "p50": 40000, "p95": 78000, "p99": 80000, "max": 80000, "mean": 41000},
        "gates": {"results": [{"metric": "lag_max", "comparison": "<=", "bound": 12000, "why": HOSTILE,
                               "kind": "gate", "observed": 9500, "status": "passed"}]},
        "outages": [{"who": "writer", "what": HOSTILE, "at_s": 12.0, "lasted_ms": 1500}],
        "ledger": {"expected": 10, "seen": 10, "lost": 0, "duplicates": 0, "examples": {"lost": [HOSTILE]}},
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result))
    load = {"rate_per_s": 1000, "warmup_s": 5, "measure_s": 30}
    manifest = {"load": load, "windows": {"window_ms": 10_000}, HOSTILE: HOSTILE}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return write_report([folder], [NotRun("C", "arroyo", HOSTILE)], base / "out", _trends(folder))


def _trends(folder: Path) -> list[Trend]:
    """Twelve nights, the last six a third slower."""
    run = read_run(folder)
    like = likeness(run.manifest)
    levels = [10.0, 10.1, 9.9, 10.05, 10.0, 9.95, 13.3, 13.4, 13.2, 13.35, 13.3, 13.25]
    history = [
        Entry(
            f"2026-01-{day:02}T02:00", "x", run.name, 1000, "PASS", HOSTILE, like, {"latency_ms_p50": level}
        )
        for day, level in enumerate(levels, 1)
    ]
    return trends_of([run], history)


def _write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there (Debian: apt-get install chromium)")
    profile = tmp_path_factory.mktemp("profile")
    browser = Browser(profile)
    yield browser
    browser.close()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def browser(chromium: Browser, page: Path) -> Browser:
    """The page opened afresh, with nothing said about it yet."""
    chromium.ask("Page.navigate", url="about:blank")
    chromium.ask("Emulation.setEmulatedMedia", features=[])
    chromium.width(1280)
    chromium.seen("")
    chromium.events.clear()
    chromium.open(page)
    return chromium


def line_pixels(browser: Browser) -> list[int]:
    """How many pixels of each canvas have the colour of a chart's first line: axes alone would be ink too."""
    found = browser.js(
        """[...document.querySelectorAll('canvas')].map(c => {
             const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
             for (let i = 0; i < d.length; i += 4)
               n += d[i] + Math.abs(d[i + 1] - 104) + Math.abs(d[i + 2] - 168) < 60 && d[i + 3] > 127;
             return n; })"""
    )
    assert isinstance(found, list)
    return found


def test_charts_are_drawn(browser: Browser) -> None:
    """Were this to fail, people would get a report with empty boxes where the curves should be."""
    places = browser.js("document.querySelectorAll('.plot').length")
    pixels = line_pixels(browser)
    assert places >= 9, "rate, lag, latency, percentiles, hops, slip, CPU, memory, engine"
    assert len(pixels) == places
    assert min(pixels) > 50, pixels


def test_no_error_and_no_request_leaves_the_file(browser: Browser, page: Path) -> None:
    """Were this to fail, the report would not work offline, or would tell somebody that it was opened."""
    browser.js("document.getElementById('theme').click()")
    urls = [one["request"]["url"] for one in browser.seen("Network.requestWillBeSent")]
    assert [url for url in urls if url != page.as_uri() and not url.startswith("data:")] == []
    assert page.as_uri() in urls, "the browser did not tell its requests, so nothing was checked"
    assert browser.complaints() == []


def test_the_trend_names_its_runs(browser: Browser) -> None:
    """Were this to fail, nobody could tell which night a point is, or that the level changed."""
    assert "Worse by 33" in browser.js("document.querySelector('#trend').parentElement.textContent")
    browser.js("[...document.querySelectorAll('.plot')].at(-1).focus()")
    browser.press("End")
    browser.wait(
        "[...document.querySelectorAll('.legend .said')].at(-1).textContent.startsWith('2026-01-12')"
    )


def test_policy_stops_a_request_from_inside(browser: Browser) -> None:
    """Were this to fail, the two checks above could pass with a policy that forbids nothing."""
    browser.js("{ const image = new Image(); image.src = 'http://127.0.0.1:9/x'; }")
    browser.js("{ fetch('http://127.0.0.1:9/y').catch(() => {}); }")
    deadline = time.monotonic() + 10
    while len(browser.complaints()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    told = json.dumps(browser.complaints())
    assert "Content Security Policy" in told
    responses = [one["response"]["url"] for one in browser.seen("Network.responseReceived")]
    assert not any("127.0.0.1" in url for url in responses)


def test_hostile_text_stays_text(browser: Browser) -> None:
    """Were this to fail, a run id or an error message could run a script in its reader's browser."""
    assert browser.js("document.title") == "jetlag: 1 passed, 1 not run"
    assert browser.js("document.querySelectorAll('img').length") == 0
    assert browser.js("document.scripts.length") == 3
    assert HOSTILE in browser.js("document.body.textContent")


@pytest.mark.parametrize("pixels", [390, 820, 1280])
def test_fits_the_screen(browser: Browser, pixels: int) -> None:
    """Were this to fail, a reader on a phone would have to scroll sideways for every line."""
    browser.width(pixels)
    browser.wait(f"innerWidth === {pixels}")  # a phone's grows with what is too wide for it
    browser.wait(f"{PLOTS}.every(plot => plot.firstChild.offsetWidth <= plot.clientWidth)")
    assert browser.js("document.documentElement.scrollWidth") <= pixels, "wider than the screen"
    assert min(line_pixels(browser)) > 50


def test_theme_follows_the_system_and_the_button(browser: Browser) -> None:
    """Were this to fail, the page or its charts would stay bright in the dark, or dark on paper."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.js(ground)
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.wait(f"{ground} !== {json.dumps(light)}")
    browser.js("document.getElementById('theme').click()")
    assert browser.js("document.getElementById('theme').textContent") == "Theme: light"
    assert browser.js(ground) == light
    assert browser.js("document.querySelector('.legend line').getAttribute('stroke')") == "#0068a8"


def test_keyboard_reads_a_chart(browser: Browser) -> None:
    """Were this to fail, whoever uses no mouse could see a curve but not one value of it."""
    browser.js("document.querySelector('.plot').focus()")
    browser.press("End")
    browser.wait("document.querySelector('.legend .said').textContent === 'at 40 s'")
    assert browser.js("document.querySelector('.legend output').textContent") == "1,000/s"
    browser.press("Escape")
    browser.wait("document.querySelector('.legend .said').textContent === ''")


def test_prints(browser: Browser) -> None:
    """Were this to fail, a printed report would be cut off or blank."""
    assert len(browser.ask("Page.printToPDF", preferCSSPageSize=False)["data"]) > 20_000
    browser.wait("document.querySelector('.plot').firstChild.offsetWidth > 400")
    assert browser.complaints() == []
