"""Know what values this kernel holds as secrets, also those that a cell set a moment ago."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from palimpsest.transcript.redaction.text import secret_values

FRESH_SECONDS = 1.0
"""Reading an environment takes 0.1 ms, and a streaming answer asks 25 times a second."""


class KernelSecrets:
    """The secret values of an environment, read anew when they are a second old."""

    def __init__(
        self, environment: Mapping[str, str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._environment = environment
        self._now = now
        self._read_at: float | None = None
        self._values: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        """Return the values, longest first."""
        now = self._now()
        if self._read_at is None or now - self._read_at > FRESH_SECONDS:
            self._read_at = now
            # A cell may change its environment while this is read; the next second reads it again.
            with suppress(RuntimeError, KeyError):
                self._values = secret_values(dict(self._environment))
        return self._values
