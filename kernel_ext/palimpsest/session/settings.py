"""What there is to set, with the built-in values.

Border: values only; where they are written and how layers are laid over each other is the work of
``config_files``, ``config_merge`` and ``config``.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from palimpsest.transcript.values import Action

Count = Annotated[int, Field(gt=0)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PermissionTable = Action | dict[str, Action | dict[str, Action]]
"""A word for everything, or by permission, or by permission and pattern; the last match wins."""


class Settings(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PriceSettings(Settings):
    """US dollars per million tokens."""

    input: Cost | None = None
    output: Cost | None = None
    cache_read: Cost | None = None
    cache_write: Cost | None = None


class ModelSettings(Settings):
    """What is known of one model; for what the built-in table does not know, or has wrong."""

    window: Count | None = None
    """Tokens of context, input and output together."""
    input: Count | None = None
    """Most tokens of input, where it is less than the window."""
    output: Count | None = None
    """Most tokens of one answer."""
    price: PriceSettings | None = None
    api_base: str | None = None
    """Address of a server that speaks the provider's protocol."""
    tools: bool | None = None
    """The model can call tools."""
    vision: bool | None = None
    reasoning: bool | None = None
    caching: bool | None = None
    """The provider caches what requests have in common."""


class ToolOutput(Settings):
    """When a tool's output is shortened for the model."""

    max_lines: Count = 2_000
    max_bytes: Count = 50_000
    direction: Literal["head", "tail", "auto"] = "auto"


class AgentSettings(Settings):
    """An agent: a built-in one changed, or a new one."""

    description: str | None = None
    model: str | None = None
    prompt: str | None = None
    """Replaces the header of the system prompt."""
    steps: Count | None = None
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""


class Config(Settings):
    """Every setting, with its built-in value."""

    model: str | None = None
    """``provider/name``; without it, what is there: a key, a local Ollama, else rehearsal."""
    small_model: str | None = None
    """For titles; without it, the session's model."""
    variant: str | None = None
    """Reasoning effort."""
    models: dict[str, ModelSettings] = {}
    context_tokens: Count | None = None
    """Hard cap on every model's window."""
    policy: str = "palimpsest"
    """Name of the context policy."""
    tool_output: ToolOutput = ToolOutput()
    permission: tuple[PermissionTable, ...] = ()
    """One table per layer, low to high; a file writes one table or word."""
    agent: dict[str, AgentSettings] = {}
    default_agent: str = "build"
    instructions: tuple[str, ...] = ()
    """Files read into the system prompt, of all layers; absolute, may hold ``*``."""
    max_steps: Count | None = None
    """Model requests in one turn."""
    system: str | None = None
    """Words added to every system prompt."""
