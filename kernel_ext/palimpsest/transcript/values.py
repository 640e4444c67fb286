"""Small values that the other packages share: models, usage, rules and questions."""

from functools import cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

Density = Literal["quiet", "all steps"]
"""How much of a turn is shown: its work folded into rows, or each thought, call and step."""
CHARS_PER_TOKEN = 4
"""Characters of a token where no tokenizer counts, as most agents assume."""
MAX_TIME_MS = 253_402_300_799_000
"""The last moment that a date can have, the end of the year 9999, in milliseconds since 1970."""


class Value(BaseModel):
    """A frozen value that keeps the fields it does not know."""

    # Schemas are built at their first use, since a first answer uses only few of the imported values.
    model_config = ConfigDict(
        frozen=True, extra="allow", ser_json_inf_nan="constants", defer_build=True
    )

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """Return a value of fields that are valid, since they were checked before; takes a third of the time of a check.

        The form of the value is not built either, which for a union of all events takes longer than a file of events.
        """
        value = cls.__new__(cls)
        _set_fields(value, {**_default_fields(cls), **fields})
        _set_names(value, {*fields})
        _set_unknown_fields(value, {})
        _set_private(value, None)
        return value


_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_names = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_unknown_fields = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


@cache
def _default_fields(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a class in their order with their defaults, None where there is none."""
    return {
        name: None if field.is_required() else field.get_default()
        for name, field in kind.model_fields.items()
    }


class ModelRef(Value):
    """A model's name, as ``provider/name``, with the requested reasoning effort."""

    provider: str
    name: str
    variant: str | None = None

    @property
    def id(self) -> str:
        """The model's full id, such as ``anthropic/claude-sonnet-4-5``."""
        return f"{self.provider}/{self.name}"


class Price(Value):
    """US dollars per million tokens; None means unknown, never free."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_hour: float | None = None
    """For tokens that the cache keeps an hour instead of minutes."""
    tiers: tuple["PriceTier", ...] = ()
    """Other prices for long prompts, lowest threshold first."""
    services: tuple["ServicePrice", ...] = ()
    """Other prices by the provider's service tier."""

    def at(self, prompt_tokens: float, service_tier: str = "") -> "Price":
        """Return the prices that hold for a prompt of so many tokens in a service tier."""
        tier_prices = (
            service.price for service in self.services if service.service_tier == service_tier
        )
        price = next(tier_prices, self)
        for tier in price.tiers:
            if prompt_tokens > tier.above:
                price = tier.price
        return price


class PriceTier(Value):
    """Prices of requests whose prompt is longer than ``above`` tokens."""

    above: int
    price: Price


class ServicePrice(Value):
    """Prices of requests that were answered in a service tier."""

    service_tier: str
    """``batch``, ``flex`` or ``priority``."""
    price: Price


MORE_THAN_ANY_REQUEST = 1_000_000_000_000
"""Tokens that a window of 0 counts as in comparisons and shares; never shown to the user."""


def capacity(window: int) -> int:
    """Return the tokens that a window holds; a window of 0 has no limit."""
    return window or MORE_THAN_ANY_REQUEST


class ModelInfo(Value):
    """What is known about a model: its limits, price and abilities."""

    ref: ModelRef
    window: int
    """Tokens of context, input and output together; 0 where no limit is known or wanted."""
    window_assumed: bool = False
    """Whether the window is our default, since the model is unknown."""
    input_limit: int | None = None
    output_limit: int
    price: Price = Price()
    listed_as: str | None = None
    """The other model's name in litellm's list whose limits and price are used as estimates; None for the model's own."""
    tools: bool = True
    vision: bool = False
    reasoning: bool = False
    caching: bool = False
    api_base: str | None = None

    @property
    def capacity(self) -> int:
        """The tokens that the window holds, also where it has no limit."""
        return capacity(self.window)


SERVICE_TIERS = ("batch", "flex", "priority")
"""Service tiers of providers that have a price of their own (OpenAI, Anthropic and Google, 2026)."""
TIER_NAMES = {"batches": "batch", "fast": "priority"}
"""Other names: Google's interface for batches, and Codex's setting for OpenAI's priority processing."""


def priced_tier(stated_tier: object) -> str | None:
    """Return the service tier that a provider or agent reported, if it has a price of its own."""
    name = stated_tier.strip().lower() if isinstance(stated_tier, str) else ""
    tier = TIER_NAMES.get(name, name)
    return tier if tier in SERVICE_TIERS else None


def _sum_or_none(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")
"""The fields of ``Usage`` that hold tokens."""
MAX_TOKENS = 1_000_000_000
"""Maximum tokens of one request; a report of more is wrong."""


class Usage(Value):
    """Tokens that a provider reported for one request, without double counting."""

    input: int = 0
    """Prompt tokens that were neither read from nor written to the provider's cache."""
    output: int = 0
    """Answer tokens without reasoning."""
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_hour: int | None = None
    """Tokens of ``cache_write`` that the cache keeps for an hour; None where that was not reported."""
    service_tier: str | None = None
    """The provider's service tier, where it has its own price: ``batch``, ``flex`` or ``priority``."""
    total: int | None = None
    estimated: bool = False
    """Whether these numbers are our own estimate, since the provider reported none."""

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def with_possible_numbers(self) -> "Usage":
        """The usage with impossible numbers, such as negative ones, set to zero, and then marked as an estimate."""
        corrections: dict[str, int | None] = {
            name: 0 for name in COUNTS if not 0 <= getattr(self, name) <= MAX_TOKENS
        }
        for name in ("total", "cache_write_hour"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= MAX_TOKENS:
                corrections[name] = None
        return self.model_copy(update=corrections | {"estimated": True}) if corrections else self

    def plus(self, other: "Usage") -> "Usage":
        """Add up two reports."""
        return Usage.unchecked(
            **{name: getattr(self, name) + getattr(other, name) for name in COUNTS},
            cache_write_hour=_sum_or_none(self.cache_write_hour, other.cache_write_hour),
            service_tier=self.service_tier if self.service_tier == other.service_tier else None,
            estimated=self.estimated or other.estimated,
        )

    def cost(self, price: Price) -> float | None:
        """Return US dollars, or None when a price that matters is unknown.

        Cache reads and writes without a price of their own are charged as ordinary input, which is
        what providers without such a price do. Thinking is charged as output.
        """
        rates = price.at(self.prompt, self.service_tier or "")
        if rates.input is None or rates.output is None:
            return None
        read_rate = rates.input if rates.cache_read is None else rates.cache_read
        write_rate = rates.input if rates.cache_write is None else rates.cache_write
        hour_rate = write_rate if rates.cache_write_hour is None else rates.cache_write_hour
        hour_tokens = self.cache_write_hour or 0
        dollars = (
            self.input * rates.input
            + self.cache_read * read_rate
            + (self.cache_write - hour_tokens) * write_rate
            + hour_tokens * hour_rate
            + (self.output + self.reasoning) * rates.output
        )
        return dollars / 1_000_000


class ToolSpec(Value):
    """A tool as it is offered to the model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the input object."""


Action = Literal["allow", "ask", "deny"]


class Rule(Value):
    """Allow, ask or deny a permission for the pattern's matches; the last match wins."""

    permission: str
    pattern: str = "*"
    action: Action
    force: Literal["limit", "lock"] | None = None
    """A *limit* only tightens what all other rules say; so does a *lock*, whose question no earlier
    "always" answers."""


class Ask(Value):
    """A question for the user: may this tool call run?"""

    id: str
    """``per_...``"""
    permission: str
    patterns: tuple[str, ...]
    """The paths, commands or addresses of the call; each must be allowed."""
    always: tuple[str, ...] = ()
    """The patterns that an "always" would allow."""
    title: str
    input: dict[str, Any]
    """The exact input of the tool call."""
    diff: str | None = None
    changed: str | None = None
    """How the call's target changed since it was always allowed: a sentence, and a unified diff."""
    warnings: tuple[str, ...] | None = None
    """Sentences about deceptive text in the input, such as invisible characters, each with its place."""
    message_id: str | None = None
    call_id: str | None = None
    tool: str | None = None


class CellDecision(Value):
    """The user's answer about one of the changes of a call that changes cells."""

    index: int
    """Number of the change among those of the call, from 0."""
    accept: bool
    source: str | None = None
    """The source that the user accepts, where it is only a part of the change."""
    reason: str = ""
    """Why the change is rejected, for the model."""


class Reply(Value):
    """The user's answer to an ask."""

    answer: Literal["once", "always", "reject"]
    feedback: str | None = None
    """Text for the model; a rejection with feedback does not end the turn."""
    scope: Literal["session", "project"] | None = None
    """How far an "always" reaches; None means the session."""
    cells: tuple[CellDecision, ...] | None = None
    """The answers about single changes of cells, for which ``answer`` is "once"; None accepts all."""
    by: str = "person"
    """Who answered: ``person``, ``--yes``, ``headless``, ``cancel`` or a rule."""


class Todo(Value):
    """One line of the session's todo list."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class QuestionOption(Value):
    """An answer to choose."""

    label: str = ""
    description: str = ""


class Question(Value):
    """A question from the model to the user, which can always be answered with free text."""

    question: str = ""
    header: str = ""
    """A short heading."""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    """Whether several options may be chosen."""


Answers = tuple[tuple[str, ...], ...]
"""For each question the labels chosen, or free text; empty where there is no answer."""


class BlobRef(Value):
    """Content kept in a file of its own, named by its hash."""

    sha256: str
    bytes: int
    chars: int | None = None
    mime: str = "text/plain"
