"""What a rule sees of the outputs in a request, and what it answers: one form for messages and for a timeline.

Border: pure. ``message_outputs.py`` shows the messages of a session in this form, and
``review/policies/item_outputs.py`` the items of a timeline, each with one function that applies an answer. So a
rule is written once, and acts alike in a live session and in every replay.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self

from palimpsest.context.reduction.superseded_reads import NewerCall
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PrunePolicy


@dataclass(frozen=True, slots=True)
class OutputReduction:
    """What a rule does with one output."""

    part_id: str
    action: Literal["clear", "truncate", "restore"]
    """``restore`` takes back what the rule itself decided for an earlier request."""
    numbers: Mapping[str, Any]
    """What the rule looked at and chose, enough to apply it again: ``text`` of a placeholder, kept characters."""
    text: str = ""
    """What the model is shown then."""
    tokens: int = 0
    """Tokens that it took, as the rule counted them."""


class RequestOutput(Protocol):
    """What a call returned, or what the user's cells did.

    Contract: read-only. Texts and sizes are made when they are asked for, so that a rule that looks at few of them
    stays quick.
    """

    @property
    def part_id(self) -> str:
        """The part whose output it is."""

    @property
    def tool(self) -> str:
        """The name by which a policy protects or allows it: a tool's, or ``notebook``."""

    @property
    def whole(self) -> str:
        """The whole text."""

    @property
    def shown(self) -> str:
        """The text as the model is shown it now."""

    @property
    def chars(self) -> int:
        """Its characters."""

    @property
    def tokens(self) -> int:
        """Its tokens, without images."""

    @property
    def media(self) -> int:
        """Images and other attachments that are shown with it."""

    @property
    def cleared(self) -> bool:
        """It is cleared already; so are only outputs of ``older``."""

    @property
    def pinned(self) -> bool:
        """A person keeps it from every reduction."""

    @property
    def kept(self) -> bool:
        """A person pinned or restored it, so that no rule of pruning may reduce it."""

    def is_recent(self, turns: int) -> bool:
        """Return whether it belongs to one of the newest so many turns."""

    def is_settled(self, answers: int) -> bool:
        """Return whether it came after the first prompt, and before the newest so many answers of the model."""


class RequestOutputs(Protocol):
    """The outputs of a session as a rule sees them before a request, or when a turn has ended.

    Contract: read-only; asked twice, it returns the same.
    """

    def newest_first(self) -> Iterator[RequestOutput]:
        """Yield the outputs that the request shows, whole or in part."""

    @property
    def tokens_at_most(self) -> float:
        """More tokens than these can have, found at once: a rule need not look at each where even that is too few."""

    def older(self, turns: int) -> Iterator[RequestOutput]:
        """Yield the outputs before the newest so many messages of the user, newest first, back to a summary.

        They are those of the whole history: what is shown of them, and what is cleared.
        """

    def newer_call(self, part_id: str) -> NewerCall | None:
        """Return the call that made a read out of date, by the read's part."""

    def all_chars(self, *, wide: bool) -> int:
        """Return the characters of all messages; ``wide`` counts Chinese, Japanese and Korean ones as four."""

    def count(self, text: str) -> int:
        """Return the tokens of a text, as the policy's estimator counts them."""

    def made_by(self, rule: str) -> Mapping[str, OutputReduction]:
        """Return what a rule did with outputs for earlier requests, where that holds, by their parts."""

    def without(self, rule: str) -> Self:
        """Return the outputs as they would be shown if a rule had decided nothing yet."""


class LookedAt(NamedTuple):
    """What a rule compared with its threshold; it acts from there on. It shows how near a rule was to acting."""

    signal: str
    """Such as ``tokens of the request``."""
    value: float
    threshold: float
    unit: str = "tokens"


class RuleAnswer(NamedTuple):
    """What a rule decides: usually nothing."""

    reductions: tuple[OutputReduction, ...] = ()
    looked_at: LookedAt | None = None


Rule = Callable[[RequestOutputs, PrunePolicy, Facts], RuleAnswer]
"""A rule of pruning: pure and total; it decides the same again."""
