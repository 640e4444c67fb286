"""The models, agents, modes and commands that a page can choose for a prompt."""

from palimpsest.transcript.values import Value


class ModelChoice(Value):
    """A model that can answer here."""

    id: str
    window: str
    """Size of the context window in tokens, formatted for a person."""
    because: str
    """Why the model is in the list."""


class AgentChoice(Value):
    """An agent that can answer here, or a mode, a command or a skill."""

    name: str
    description: str


class Choices(Value):
    """The models, agents, modes and commands that the user can choose for a prompt."""

    models: tuple[ModelChoice, ...]
    agents: tuple[AgentChoice, ...]
    model: str = ""
    """The default model."""
    agent: str = ""
    commands: tuple[AgentChoice, ...] = ()
    """The user's own commands; ``/name arguments`` is the prompt."""
    skills: tuple[AgentChoice, ...] = ()
    """Texts that the model loads for one kind of task."""
    subagents: tuple[AgentChoice, ...] = ()
    """Agents that can be given a task; ``@name task`` is the prompt."""
    modes: tuple[AgentChoice, ...] = ()
    mode: str = ""
    """The mode of sessions for which none was chosen."""
    untrusted: tuple[str, ...] = ()
    """Settings in this project's files that have no effect until the user trusts them."""
