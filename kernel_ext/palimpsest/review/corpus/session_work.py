"""Review one source in any process: plain values in, plain values out, without exceptions.

An error is returned as a sentence, so that a broken recording does not affect others.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palimpsest.review.comparison.policy_comparison import REPORTED_NAME
from palimpsest.review.corpus.session_sources import SessionSource
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_figures import session_figures
from palimpsest.review.session_review import PolicyLike, SessionReview
from palimpsest.review.tables.cache_breaks import remedy_text
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.timeline import Timeline

Rows = list[dict[str, Any]]
MAX_ERROR_CHARS = 200
"""Maximum characters of an error that a problem's sentence quotes."""
FIGURES_KEY = "figures"
"""The key of a session's figures among the requested results."""
WASTES_KEY = "wastes"
"""The key of a session's wastes, as of ``session_wastes``."""
WARMING_REMEDY = "requests that keep the cache warm through a pause"
SHORTER_OUTPUTS_REMEDY = "shorter outputs, or clearing them sooner"
_REMEDY_BY_KIND = {
    "again": "not reading again what is still in the context",
    "unused": SHORTER_OUTPUTS_REMEDY,
    "large": SHORTER_OUTPUTS_REMEDY,
    "idle": "clearing large outputs after their last use",
}
"""The remedy against each kind of waste except cache breaks."""


class ReplayOptions(NamedTuple):
    """How policies are replayed over every session."""

    price: str | None
    """The user's prices and lifetime of the cache, in the words of ``given_prices``."""
    window: int = 0
    summary: str | None = None
    """The choice of texts for summaries that policies would have requested."""


@dataclass(frozen=True)
class SessionWork:
    """A source, and the results that are requested of it."""

    source: SessionSource
    policy_by_key: Mapping[str, PolicyLike]
    """The policies by their keys, and the keys ``FIGURES_KEY`` and ``WASTES_KEY``."""
    options: ReplayOptions


@dataclass(frozen=True)
class SessionResult:
    """The results of one source."""

    source: SessionSource
    rows: Mapping[str, Rows] = field(default_factory=dict)
    """The rows for each requested key."""
    problems: tuple[str, ...] = ()
    """A sentence for each place of the source that could not be read."""
    failed: bool = False
    """Whether the whole source could not be read."""


def review_source(work: SessionWork) -> SessionResult:
    """Return the requested results of a source; never raises."""
    try:
        return _session_result(work)
    except PalimpsestError as error:
        problem = str(error)
    except MemoryError:
        problem = "It cannot be read: it takes more memory than there is."
    except Exception as error:  # noqa: BLE001  # an error in one recording must not affect others
        problem = f"It cannot be reviewed: {type(error).__name__}: {str(error)[:MAX_ERROR_CHARS]}."
    return SessionResult(work.source, problems=(problem,), failed=True)


def _session_result(work: SessionWork) -> SessionResult:
    rows: dict[str, Rows] = {key: [] for key in work.policy_by_key}
    policies = {
        key: policy
        for key, policy in work.policy_by_key.items()
        if key not in (FIGURES_KEY, WASTES_KEY)
    }
    price, window, summary = work.options
    # Subagents whose recordings are separate files are separate sources.
    with open_recording(
        work.source.path, session=work.source.session, price=price, without_subagents=True
    ) as recording:
        problems = [problem.sentence for problem in recording.problems]
        for review in recording:
            if FIGURES_KEY in rows:
                rows[FIGURES_KEY].append(session_figures(review).json())
            if WASTES_KEY in rows:
                rows[WASTES_KEY].append(session_wastes(review))
            if not policies or not review.timeline.requests:
                continue
            comparison = review.compare([*policies.values()], window=window, summary=summary)
            session_fields = {
                "session": review.timeline.session,
                "title": review.timeline.title,
                "origin": review.timeline.origin,
                "requests": len(review.timeline.requests),
                "unit": comparison.price.unit,
            }
            policy_rows = [
                row for row in comparison.table.records() if row["policy"] != REPORTED_NAME
            ]
            for key, row in zip(policies, policy_rows, strict=True):
                rows[key].append({**session_fields, **row})
    return SessionResult(work.source, rows, tuple(problems))


def session_wastes(review: SessionReview) -> dict[str, Any]:
    """Return the wastes of a session as plain values.

    ``kinds`` has the number and cost of each kind. ``remedies`` has the cost of the wastes that each remedy addresses; less
    would have been saved, since a remedy has its own cost. ``reported`` has the tokens that each request reported, by
    its id, and its time; empty where one reported none.
    """
    price, timeline = review.price(None), review.timeline
    wastes = review.wastes()
    cost_by_remedy: dict[str, float] = defaultdict(float)
    for cache_break in review.breaks():
        remedy = remedy_text(timeline, cache_break, price)
        if remedy:
            cost_by_remedy[WARMING_REMEDY if cache_break.cause == "idle" else remedy] += (
                cache_break.cost
            )
    for kind in wastes.kinds:
        if remedy := _REMEDY_BY_KIND.get(kind.kind, ""):
            cost_by_remedy[remedy] += kind.cost
    return {
        "session": timeline.session,
        "unit": wastes.unit,
        "is_fact": all(kind.cost_is_fact for kind in wastes.kinds),
        "kinds": {kind.kind: [kind.count, kind.cost] for kind in wastes.kinds},
        "remedies": dict(cost_by_remedy),
        "reported": _reported_requests(timeline),
    }


def _reported_requests(timeline: Timeline) -> dict[str, tuple[str, int | None]]:
    if any(request.reported is None for request in timeline.requests):
        return {}
    return {
        request.id: (f"{usage.input} {usage.cache_read} {usage.cache_write}", request.started)
        for request in timeline.requests
        if (usage := request.usage) is not None
    }
