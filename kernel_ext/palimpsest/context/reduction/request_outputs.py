"""The input and the result of a pruning rule, the same for messages and for a timeline.

Border: pure. ``message_outputs.py`` provides the outputs of a session's messages in this form, and
``context_policies/engine_presets/item_outputs.py`` those of a timeline's items, each with a function that applies the
result. So a rule is written once, and acts alike in a live session and in every replay.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self

from palimpsest.context.reduction.superseded_reads import NewerCall
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.prune_policy import PrunePolicy


@dataclass(frozen=True, slots=True)
class OutputReduction:
    """A rule's reduction of one output, or its undoing."""

    part_id: str
    action: Literal["clear", "truncate", "restore"]
    """``restore`` undoes the same rule's reduction for an earlier request."""
    numbers: Mapping[str, Any]
    """The rule's inputs and results, enough to apply it again: ``text`` of a placeholder, kept characters."""
    text: str = ""
    """The text that the model sees then."""
    tokens: int = 0
    """Tokens of the output before, by the rule's count."""


class RequestOutput(Protocol):
    """The result of a call, or a note about the user's cells.

    Contract: read-only. Texts and sizes are computed on access, so that a rule that uses few of them stays fast.
    """

    @property
    def part_id(self) -> str:
        """Id of the part with the output."""

    @property
    def tool(self) -> str:
        """The tool's name, or ``notebook``, by which a policy protects or allows it."""

    @property
    def whole_text(self) -> str:
        """The whole text."""

    @property
    def shown_text(self) -> str:
        """The text as the model sees it now."""

    @property
    def shown_chars(self) -> int:
        """Characters of ``shown_text``."""

    @property
    def tokens(self) -> int:
        """Tokens of the shown text, without images."""

    @property
    def media_count(self) -> int:
        """Number of images and other attachments that are shown with the text."""

    @property
    def is_cleared(self) -> bool:
        """Whether it is cleared already, which only outputs of ``older_than`` can be."""

    @property
    def pinned(self) -> bool:
        """Whether the user pinned it, so that nothing reduces it."""

    @property
    def is_kept_by_user(self) -> bool:
        """Whether the user pinned or restored it, so that no pruning rule may reduce it."""

    def is_recent(self, turns: int) -> bool:
        """Return whether it belongs to one of the newest ``turns`` turns."""

    def is_settled(self, answers: int) -> bool:
        """Return whether it came after the first prompt, and before the newest ``answers`` answers."""


class RequestOutputs(Protocol):
    """The outputs of a session for a rule, before a request or when a turn has ended.

    Contract: read-only; repeated calls return the same.
    """

    def newest_first(self) -> Iterator[RequestOutput]:
        """Yield the outputs that the request shows, whole or in part."""

    @property
    def tokens_at_most(self) -> float:
        """A quick upper bound on the tokens of all outputs; where even that is too few, a rule need not count them."""

    def older_than(self, turns: int) -> Iterator[RequestOutput]:
        """Yield the outputs before the newest ``turns`` user messages, newest first, back to a summary.

        They are the shown and the cleared outputs of the whole history.
        """

    def newer_call(self, part_id: str) -> NewerCall | None:
        """Return the call that made a read out of date, by the id of the read's part."""

    def all_chars(self, *, counts_width: bool) -> int:
        """Return the characters of all messages; ``counts_width`` counts Chinese, Japanese and Korean ones as four."""

    def count(self, text: str) -> int:
        """Return the tokens of a text, as the policy's estimator counts them."""

    def reductions_by(self, rule: str) -> Mapping[str, OutputReduction]:
        """Return a rule's reductions for earlier requests that are still in effect, by part id."""

    def without_rule(self, rule: str) -> Self:
        """Return the outputs as they would be shown if a rule had decided nothing yet."""


class LookedAt(NamedTuple):
    """The value that a rule compared with its threshold; at the threshold or above it, the rule acts."""

    quantity: str
    """What the value measures, such as ``tokens of the request``."""
    value: float
    threshold: float
    unit: str = "tokens"


class RuleAnswer(NamedTuple):
    """The reductions of a rule, usually none."""

    reductions: tuple[OutputReduction, ...] = ()
    checked_figure: LookedAt | None = None


Rule = Callable[[RequestOutputs, PrunePolicy, Facts], RuleAnswer]
"""A pruning rule: pure and total, so that the same input gives the same decisions."""
