"""The processes below one, and how they were called."""

from __future__ import annotations

import contextlib

import psutil


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def command_words(family: list[psutil.Process]) -> list[list[str]]:
    """One that ends between the listing and the look (a zombie, too) has no words, and fails no test."""
    words = []
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            words.append(process.cmdline())
    return words
