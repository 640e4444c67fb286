"""One run of a session's loop, as those see it who work for it.

Border: the value alone; ``session/runs/runner.py`` begins runs and ends them.
"""

from palimpsest.tools.tool import Abort


class Run:
    """One run of the loop: what was delivered in it, and how it may be stopped."""

    def __init__(self) -> None:
        self.abort = Abort()
        self.delivered: dict[str, str] = {}
        """Prompt id to the id of the user message it became."""
        self.yes = False
        self.first_seq = 0
        self.withdrawn: list[str] = []
        """Prompts that waited behind it, and were taken back when it was stopped."""
