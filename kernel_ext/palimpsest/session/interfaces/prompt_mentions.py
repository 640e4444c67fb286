"""The kernel's variables that a prompt may name, read while it is typed.

Border: the protocol alone. Nothing is sent, journaled or asked for it, and none of the user's code
runs; ``session/prompts/mention_previews.py`` uses it.
"""

from collections.abc import Sequence
from typing import Protocol

from palimpsest.tools.tool import Namespace


class NotCounted(Exception):  # named after the state it reports, which is no failure
    """A value is not described before the prompt is sent, since that would run code of the user or take long."""


class KernelIsBusy(Exception):  # named after the state it reports
    """A cell runs, so that no variable is read now."""


class QuietNamespace(Namespace, Protocol):
    """Reads the user's variables while a prompt is typed.

    Contract: runs none of the user's code and never waits for a cell. ``describe`` returns the note that the prompt
    would get, or raises NotFound, NotCounted or KernelIsBusy; ``names`` and ``type_and_shape`` may be called from any thread.
    """

    def names(self) -> Sequence[tuple[str, str]]:
        """Return each variable's name, and its type and shape; the newest first, functions and classes last."""

    def type_and_shape(self, path: str) -> str:
        """Return type and shape of the value at a path, empty where that is not known without its code."""
