"""A line of the magic as it was read: the options of a prompt, and what is sent.

Border: the value alone; ``frontends/magic/line_parser.py`` reads it.
"""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.messages import Origin


class TurnRequest(Protocol):
    """What asks for a turn that is no prompt, such as a summary."""

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
    """A prompt with its options, or the turn that is asked for in its place."""

    options: MagicOptions = MagicOptions()
    prompt: str = ""
    """Of such a turn what stands for its prompt in the record."""
    request: TurnRequest | None = None
