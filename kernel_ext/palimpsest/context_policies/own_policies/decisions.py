"""The decisions that the user's own policy can make about an item."""

from palimpsest.context_policies.interface.policy import Change, Probe

CLEARED_TEXT = "[Old tool result content cleared]"


def clear(index: int, text: str = CLEARED_TEXT) -> Change:
    """Return the decision to show a short text in the place of an item; a shorter item stays."""
    return Change(index, "cleared", text)


def drop(index: int) -> Change:
    """Return the decision to leave out an item; a call goes with its result."""
    return Change(index, "out")


def truncate(index: int, chars: int) -> Change:
    """Return the decision to show the first characters of an item; a shorter item stays."""
    return Change(index, "truncated", chars=max(0, int(chars)))


def mask(index: int, text: str) -> Change:
    """Return the decision to show the user's own text in the place of an item."""
    return Change(index, "masked", str(text))


def probe(signal: str, value: float, threshold: float, unit: str = "tokens") -> Probe:
    """Return the measured value and its threshold, so that a table can explain why the policy did not act."""
    return Probe(signal, value, threshold, unit)
