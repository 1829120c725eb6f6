"""Bento's own HTTP server: whether it is connected on both sides, and what it has counted."""

from __future__ import annotations

import re
import urllib.request

_SAMPLE = re.compile(r"^(?P<name>\w+)(?:\{[^}]*\})? (?P<value>\S+)$", re.MULTILINE)


def get_ready(address: str, timeout_s: float) -> None:
    """Any exception means not ready: /ready answers 503 until input and output are connected."""
    with urllib.request.urlopen(f"http://{address}/ready", timeout=timeout_s):
        pass


def get_version(address: str, timeout_s: float) -> str:
    with urllib.request.urlopen(f"http://{address}/version", timeout=timeout_s) as answer:
        match = re.search(rb'"version":\s*"([^"]*)"', answer.read())
    return match[1].decode(errors="replace") if match else "unknown"


def get_counts(address: str, timeout_s: float) -> dict[str, float]:
    """Samples of /metrics, summed over their labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=timeout_s) as answer:
        return read_counts(answer.read().decode(errors="replace"))


def read_counts(text: str) -> dict[str, float]:
    counts: dict[str, float] = {}
    for sample in _SAMPLE.finditer(text):
        counts[sample["name"]] = counts.get(sample["name"], 0.0) + float(sample["value"])
    return counts
