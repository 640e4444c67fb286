"""The protocols of what tells, while a prompt is typed, what it may name and what would go along with it.

Border: protocols alone. Nothing is sent, journaled or asked for it, and none of the user's code
runs; ``session/prompts/mention_previews.py`` makes them.
"""

from collections.abc import Sequence
from typing import Protocol

from palimpsest.tools.tool import Namespace
from palimpsest.transcript.context_values.prompt_mentions import MentionList, MentionPreview


class NotCounted(Exception):  # named after what is told, which is no failure
    """A value is not described before the prompt is sent, since that would run code of the user or take long."""


class KernelIsBusy(Exception):  # named after what is told
    """A cell runs, so that no variable is looked at now."""


class QuietNamespace(Namespace, Protocol):
    """Reads the user's variables while a prompt is typed.

    Contract: runs none of the user's code and never waits for a cell. ``describe`` returns what the prompt
    would tell, or raises NotFound, NotCounted or KernelIsBusy; ``names`` and ``brief`` answer from any thread.
    """

    def names(self) -> Sequence[tuple[str, str]]:
        """Return each variable's name, and its type and shape; the newest first, functions and classes last."""
        ...

    def brief(self, path: str) -> str:
        """Return type and shape of the value at a path, empty where that is not known without its code."""
        ...


class PromptMentions(Protocol):
    """What prompts of one session may name.

    Contract: coroutines on the engine's loop that wait for no cell; nothing is written.
    """

    async def offered(self, query: str = "", agent: str | None = None) -> MentionList:
        """Return what a prompt may name and no rule denies; ``query`` chooses among files."""
        ...

    async def previews(self, text: str, agent: str | None = None) -> tuple[MentionPreview, ...]:
        """Return what would go along with each mention in a prompt, in order."""
        ...
