"""Review one source in whatever process it is sent to: plain values in, plain values out, nothing raised.

What goes wrong is returned as a sentence, so that one broken recording costs only itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palimpsest.review.comparison.policy_comparison import REPORTED
from palimpsest.review.comparison.session_figures import session_figures
from palimpsest.review.comparison.session_review import PolicyLike
from palimpsest.review.corpus.session_sources import SessionSource
from palimpsest.review.recordings.recording import open_recording
from palimpsest.transcript.errors import PalimpsestError

Rows = list[dict[str, Any]]
FIGURES = "figures"
"""The key of a session's figures among what is asked."""


class ReplayOptions(NamedTuple):
    """How policies are replayed over every session."""

    price: str | None
    """What was given, as words, with the lifetime of the cache."""
    window: int = 0
    summary: str | None = None
    """What stands where policies would have had a summary written."""


@dataclass(frozen=True)
class SessionWork:
    """What is to be found out of one source."""

    source: SessionSource
    asked: Mapping[str, PolicyLike]
    """Policies by their keys, and ``FIGURES``."""
    options: ReplayOptions


@dataclass(frozen=True)
class SessionResult:
    """What was found."""

    source: SessionSource
    rows: Mapping[str, Rows] = field(default_factory=dict)
    """Of each key that was asked for."""
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
    rows: dict[str, Rows] = {key: [] for key in work.asked}
    policies = {key: policy for key, policy in work.asked.items() if key != FIGURES}
    price, window, summary = work.options
    # Subagents that are recordings of their own are sources of their own.
    with open_recording(
        work.source.path, session=work.source.session, price=price, alone=True
    ) as recording:
        problems = [one.sentence for one in recording.problems]
        for review in recording:
            if FIGURES in rows:
                rows[FIGURES].append(session_figures(review).json())
            if not policies or not review.timeline.requests:
                continue
            compared = review.compare([*policies.values()], window=window, summary=summary)
            about = {
                "session": review.timeline.session,
                "title": review.timeline.title,
                "origin": review.timeline.origin,
                "requests": len(review.timeline.requests),
                "unit": compared.price.unit,
            }
            replayed = [row for row in compared.table.records() if row["policy"] != REPORTED]
            for key, row in zip(policies, replayed, strict=True):
                rows[key].append({**about, **row})
    return SessionResult(work.source, rows, tuple(problems))
