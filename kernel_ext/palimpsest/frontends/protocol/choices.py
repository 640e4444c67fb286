"""Which models, agents and modes there are to choose from."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase
from palimpsest.transcript.values import Value


class ListChoices(CommandBase):
    """List the models and agents that can answer here."""

    type: Literal["choices"] = "choices"


class ModelChoice(Value):
    """A model that can answer here."""

    id: str
    window: str
    """Tokens of context, as a person reads them."""
    because: str
    """Why it is here."""


class AgentChoice(Value):
    """An agent that can answer here."""

    name: str
    description: str


class ModeChoice(Value):
    """A mode that a session can be in."""

    name: str
    description: str


class Choices(Value):
    """What a person can choose for a prompt."""

    models: tuple[ModelChoice, ...]
    agents: tuple[AgentChoice, ...]
    model: str = ""
    """The model that answers when nobody chose one."""
    agent: str = ""
    commands: tuple[AgentChoice, ...] = ()
    """Commands of the person's own; ``/name arguments`` is the prompt."""
    skills: tuple[AgentChoice, ...] = ()
    """Texts that the model loads for one kind of task."""
    subagents: tuple[AgentChoice, ...] = ()
    """Agents to whom work can be handed; ``@name task`` is the prompt."""
    modes: tuple[ModeChoice, ...] = ()
    mode: str = ""
    """The mode of sessions for which nobody chose one."""
    untrusted: tuple[str, ...] = ()
    """What this project's files say that waits for a person's trust."""
