"""Find the secret values in this kernel's environment, including those that a cell has just set."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from palimpsest.transcript.redaction.text import secret_values

FRESH_SECONDS = 1.0
"""How long values are reused: reading them takes 0.1 ms, and a streaming answer asks 25 times a second."""


class KernelSecrets:
    """Returns the secret values of an environment, reading it again when they are older than a second."""

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
            # A cell may change the environment while it is read; then the next read gets it.
            with suppress(RuntimeError, KeyError):
                self._values = secret_values(dict(self._environment))
        return self._values
