"""The one way to wait for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL_S = 0.05


def wait_until(
    condition: Callable[[], object],
    timeout_s: float,
    message: str | Callable[[], str],
    *,
    interval_s: float = INTERVAL_S,
    abort_on: tuple[type[Exception], ...] = (),
) -> None:
    """Return as soon as `condition` holds; raise TimeoutError with `message` when it does not in time.

    An exception in `condition` means "not yet" and is chained to the TimeoutError if it was the last word,
    except those of `abort_on`, which pass at once: waiting for a process that has died helps nobody.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        last_error: Exception | None = None
        try:
            if condition():
                return
        except abort_on:
            raise
        except Exception as error:
            last_error = error
        # The condition is tried once more after the deadline's last sleep, so a slow machine gets its answer.
        if time.monotonic() >= deadline_s:
            text = message() if callable(message) else message
            raise TimeoutError(f"{text} (waited {timeout_s:g} s)") from last_error
        time.sleep(min(interval_s, max(0.0, deadline_s - time.monotonic())))
