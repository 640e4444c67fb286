"""The state of a light engine policy between requests, as plain values."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class EngineState(NamedTuple):
    """The state of a light engine policy between requests."""

    window: int
    """The window that the caller assumes; 0 takes the recorded one."""
    unseen_tokens: int
    """Tokens of the view's total that belong to no item, although system prompt and tools are items."""
    considered_outputs: int = 0
    """Number of outputs that were considered when they arrived."""
    item_count: int = 0
    """Number of items at the step before."""
    reduction_numbers: Mapping[str, Mapping[str, Any]] = {}
    """The numbers of the decision about each reduced output, by its index as text."""
    recorded_tokens: Mapping[str, int] = {}
    """Tokens of the reduced outputs, by their indexes as text, counted by the estimator of the recording, if it differs from the policy's."""
    replaced_truncations: Mapping[str, Mapping[str, Any]] = {}
    """The numbers of the truncation that a ``cache-ttl`` trim replaced, by the output's index as text."""
    covered_until: int = 0
    """The first item after those that a summary replaced."""
    summary_place: int = -1
    """The item that a placeholder summary replaces; -1 where there is none."""
    shown_summary: tuple[int, ...] = ()
    """The items of a recorded summary that is shown, and of the text that continues after it."""
    continuation_place: int = -1
    """The item before which a text that continues after a placeholder is shown; -1 where there is none."""
    first_in_limit: int = 0
    """The first item within the history limit."""
    attempts: tuple[int, int, int, int, bool] = (0, 0, 0, 0, False)
    """Attempts in this turn, as ``FitAttempts`` counts them."""
    summary_requested_at: int | None = None
    """Milliseconds since 1970 at which a summary was requested, which used the provider's cache."""
    tokens_as_recorded: int = 0
    """Tokens of the newest request as it was sent, by the estimator of the recording."""
    used_tokens: int = 0
    """Tokens of the newest request, by the policy's estimator."""
    estimated_tokens: int = 0
    """Tokens of the newest request as the policy's rule estimated them."""
    estimate_limit: int = 0
    """The limit of ``estimated_tokens``."""
    fits: bool = True
    """Whether ``estimated_tokens`` are within the limit."""
    summarised_at: int = -1
    """The newest request before which a summary was written; -1 for none."""
    failed_at: int = -1
    """The newest request before which a summary was requested and failed, as the recorded one did; -1 for none."""


class ShownMessage(NamedTuple):
    """A shown message as a range of items; a text that the engine wrote has an empty range."""

    first_item: int
    end: int
    is_from_user: bool

    @property
    def items(self) -> range:
        """The indexes of its items."""
        return range(self.first_item, self.end)
