"""What a light engine policy remembers between requests, as plain values."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class EngineState(NamedTuple):
    """What a light engine policy remembers between requests."""

    window: int
    """As the caller assumes it; 0 takes the recorded one."""
    unseen: int
    """Tokens of the view's total that are none of its items', although system prompt and tools are items."""
    seen: int = 0
    """Outputs that were looked at when they came."""
    items: int = 0
    """Items that were there at the step before."""
    reduced: Mapping[str, Mapping[str, Any]] = {}
    """The numbers of the decision about each output that is shown otherwise, by its item."""
    counted: Mapping[str, int] = {}
    """Tokens of what is shown instead, by the estimator of the recording, where that is another one."""
    below: Mapping[str, Mapping[str, Any]] = {}
    """The numbers of the truncation that a trim of ``cache-ttl`` stands upon, by its item."""
    gone: int = 0
    """Items below this one were replaced by a summary."""
    place: int = -1
    """The item in whose place a placeholder of a summary stands; -1 where there is none."""
    adopted: tuple[int, ...] = ()
    """A recorded summary that is shown, and the text that goes on after it."""
    continued: int = -1
    """Where a text stands that goes on after a placeholder: before this item; -1 where there is none."""
    dropped: int = 0
    """Items below this one are beyond the history limit."""
    tries: tuple[int, int, int, int, bool] = (0, 0, 0, 0, False)
    """Of this turn, as ``FitAttempts`` counts them."""
    touched: int | None = None
    """When a summary was asked for, which used the provider's cache."""
    compared: int = 0
    """Tokens of the newest request as it was sent, by the estimator of the recording."""
    used: int = 0
    """Tokens of it as the policy's estimator counts them."""
    estimate: int = 0
    """Tokens of the newest request as the policy's rule estimated them, and what it may have."""
    budget: int = 0
    fits: bool = True
    summarised_at: int = -1
    """The newest request before which a summary was written."""
    failed_at: int = -1
    """The newest request before which a summary was asked for that failed, as the recorded one did."""


class ShownMessage(NamedTuple):
    """A message that is shown, as a range of items; a text of the engine's own is empty."""

    first: int
    end: int
    is_users: bool
