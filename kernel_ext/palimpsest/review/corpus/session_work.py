"""Review one source in whatever process it is sent to: plain values in, plain values out, nothing raised.

What goes wrong is returned as a sentence, so that one broken recording costs only itself.
"""

from dataclasses import dataclass, field
from typing import Any

from palimpsest.review.comparison.policy_comparison import REPORTED
from palimpsest.review.comparison.session_figures import session_figures
from palimpsest.review.comparison.session_review import PolicyLike
from palimpsest.review.corpus.session_sources import SessionSource
from palimpsest.review.recordings.preset_policies import policy_from_words
from palimpsest.review.recordings.recording import open_recording
from palimpsest.transcript.errors import PalimpsestError

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class SessionWork:
    """What is to be found out of one source."""

    source: SessionSource
    figures: bool = False
    policies: tuple[PolicyLike, ...] = ()
    price: str | None = None
    """What was given, as words, with the lifetime of the cache."""
    window: int = 0
    summary: str | None = None
    """What stands where policies would have had a summary written."""


@dataclass(frozen=True)
class SessionResult:
    """What was found: rows of figures, and rows of each policy in the order that was asked for."""

    source: SessionSource
    figures: Rows = field(default_factory=list)
    policies: tuple[Rows, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read of it, a sentence each."""
    failed: bool = False
    """Nothing of it could be read."""


def review_source(work: SessionWork) -> SessionResult:
    """Return what was asked of a source; never raises."""
    try:
        return _reviewed(work)
    except PalimpsestError as error:
        return SessionResult(work.source, problems=(str(error),), failed=True)
    except MemoryError:
        words = "it takes more memory than there is"
        return SessionResult(work.source, problems=(f"It cannot be read: {words}.",), failed=True)
    except Exception as error:  # noqa: BLE001  # a broken recording costs only itself, whatever is broken
        words = f"It cannot be reviewed: {type(error).__name__}: {str(error)[:200]}."
        return SessionResult(work.source, problems=(words,), failed=True)


def _reviewed(work: SessionWork) -> SessionResult:
    figures: Rows = []
    policies: list[Rows] = [[] for _ in work.policies]
    wanted = [policy_from_words(one) if isinstance(one, str) else one for one in work.policies]
    # Subagents that are recordings of their own are sources of their own.
    with open_recording(
        work.source.path, session=work.source.session, price=work.price, alone=True
    ) as recording:
        problems = [one.sentence for one in recording.problems]
        for review in recording:
            if work.figures:
                figures.append(session_figures(review).json())
            if not wanted or not review.timeline.requests:
                continue
            compared = review.compare(wanted, window=work.window, summary=work.summary)
            about = {
                "session": review.timeline.session,
                "title": review.timeline.title,
                "origin": review.timeline.origin,
                "requests": len(review.timeline.requests),
                "unit": compared.price.unit,
            }
            replayed = [row for row in compared.table.records() if row["policy"] != REPORTED]
            for rows, row in zip(policies, replayed, strict=True):
                rows.append({**about, **row})
    return SessionResult(work.source, figures, tuple(policies), tuple(problems))
