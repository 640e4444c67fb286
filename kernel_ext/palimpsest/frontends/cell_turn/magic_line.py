"""A parsed line of the magic: the options of a prompt, and the prompt.

Border: the value only; ``frontends/magic/line_parser.py`` parses it.
"""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.messages import Origin


class TurnRequest(Protocol):
    """A request for a turn without a prompt, such as a compaction."""

    def turn(self, session: KernelSession, origin: Origin) -> Coroutine[Any, Any, Answer]:
        """Return the turn, which begins when it is awaited."""


@dataclass(frozen=True, slots=True)
class MagicOptions:
    """The options given on the line of the magic."""

    model: str | None = None
    variant: str | None = None
    session: str | None = None
    new: bool = False
    title: str | None = None
    permission: Mapping[str, str] | str | None = None
    agent: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | Mapping[str, bool] | None = None
    max_steps: int | None = None
    yes: bool = False
    again: bool = False
    quiet: bool = False
    bg: bool = False
    steer: bool = False


@dataclass(frozen=True, slots=True)
class MagicLine:
    """A prompt with its options, or a request for a turn without a prompt."""

    options: MagicOptions = MagicOptions()
    prompt: str = ""
    """The prompt; for a turn without one, the text that is recorded in its place."""
    turn_request: TurnRequest | None = None
