"""The state of one run of a session's loop.

Border: the value alone; ``session/runs/runner.py`` starts and ends runs.
"""

from palimpsest.tools.tool import Abort


class Run:
    """One run of the loop: the prompts delivered in it, and its abort signal."""

    def __init__(self) -> None:
        self.abort = Abort()
        self.delivered: dict[str, str] = {}
        """Prompt id to the id of the user message it became."""
        self.yes = False
        self.first_seq = 0
        self.withdrawn: list[str] = []
        """Texts of prompts that waited in the inbox when the run was stopped, and were withdrawn."""
