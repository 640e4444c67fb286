"""The values that the inspector's view of two sessions is drawn from: both tracks, where they part, and figures as text.

Lists of requests are columns, as in ``view_values``; requests count from 0. Texts of a recording in them are data.
"""

from collections.abc import Callable
from typing import Any, Literal

from palimpsest.transcript.values import Value

FileUseWord = Literal["changed", "read", ""]
ComparedUnit = Literal["USD", "units", ""]


class ComparedStep(Value):
    """What one session did in the first step in which it differs from the other."""

    request: int | None = None
    """Index of the request, from 0; None for a step copied from another session."""
    words: str
    """The action as a phrase on one line."""


class ComparedSession(Value):
    """One of two sessions."""

    session: str
    title: str
    origin: str
    model: str
    tokens: tuple[int | None, ...]
    """Tokens of each request: as reported, or by the ruler where the session reported none; None where only this is not
    known."""
    is_estimate: bool
    """Whether the tokens are by the ruler."""
    costs: tuple[float | None, ...]
    """The cost of each request, in ``SessionComparison.unit``; None where it is not known."""
    cost_is_estimate: bool
    """Whether a cost was not recorded."""
    seconds: tuple[float | None, ...]
    """Seconds from the first request to each; empty where the recording's times are not usable."""
    parting: ComparedStep | None = None
    """None where it has no further step."""


class ComparedFigure(Value):
    """One figure, as text, with its value in each session."""

    key: str
    name: str
    first: str
    second: str
    ratio: str
    """The second as a multiple of the first; a dash where that says nothing."""


class ComparedFile(Value):
    """A file that calls of one or both sessions named."""

    path: str
    first: FileUseWord
    """What the first session did with the file; empty where none of its calls names the file."""
    second: FileUseWord


class SessionComparison(Value):
    """Two sessions side by side."""

    first: ComparedSession
    second: ComparedSession
    shared: int
    """Number of steps from the beginning in which both do the same."""
    sentence: str
    """Where they part, in a sentence."""
    unit: ComparedUnit
    """Empty where their costs are in different money."""
    figures: tuple[ComparedFigure, ...]
    files: tuple[ComparedFile, ...] = ()
    notes: tuple[str, ...] = ()
    stamp: str = ""
    """In a kernel's answer the comparison's name, by which a later question tells that the page has the comparison."""


def cleaned_comparison(
    comparison: SessionComparison, clean: Callable[[Any], Any]
) -> SessionComparison:
    """Return a comparison after ``clean`` was applied to its JSON, such as to remove keys."""
    return SessionComparison.model_validate(clean(comparison.model_dump(mode="json")))
