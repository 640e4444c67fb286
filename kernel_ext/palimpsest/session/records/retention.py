"""Choose which sessions may go, by age and by size, and say of the others why they stay.

Border: chooses, and deletes nothing. Nothing goes by itself: a person asks, sees what would go, and says yes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.session.records.session_search import with_children
from palimpsest.store.blobs.disk_usage import DiskUsage, SessionSize
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.transcript.context_values.decisions import pinned_parts
from palimpsest.transcript.errors import UserError

PINS = (b'"action":"pin"', b'"pinned":true')
"""One of these stands in every log in which something was pinned."""
DAY_MS = 86_400_000
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long and how much is kept; None is without end."""

    days: float | None = None
    """Since a session was last used."""
    most_bytes: int | None = None
    """Of all that the folder holds."""


@dataclass(frozen=True, slots=True)
class SessionTree:
    """A session with those that it began, which go together."""

    summary: SessionSummary
    ids: tuple[str, ...]
    """Those at the bottom first, the session's own last."""
    bytes: int
    updated: int
    """When one of them was last used."""
    stays: str = ""
    """Why it is never taken; empty when it may go."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What would go."""

    limits: RetentionLimits
    due: tuple[SessionTree, ...] = ()
    """Oldest first."""
    spared: tuple[SessionTree, ...] = ()
    """Old or too large, and never taken."""
    total: int = 0
    """What the folder holds, in bytes."""

    @property
    def freed(self) -> int:
        """What is won."""
        return sum(one.bytes for one in self.due)


def prune_plan(
    summaries: Sequence[SessionSummary],
    sizes: DiskUsage,
    limits: RetentionLimits,
    now_ms: int,
    is_open: Callable[[str], bool],
    is_pinned: Callable[[str], bool],
) -> PrunePlan:
    """Say what would go under these limits.

    What is open or written by any kernel, shared, needed by a fork, or holds something that a
    person pinned is never taken.
    """
    found = sorted(session_trees(summaries, sizes), key=lambda one: (one.updated, one.summary.id))
    weights = {one.id: one for one in sizes.sessions}
    needed = _needed(summaries)
    due, spared = [], []
    total = sizes.total
    for one in found:
        old = limits.days is not None and now_ms - one.updated >= limits.days * DAY_MS
        large = limits.most_bytes is not None and total > limits.most_bytes
        if not old and not large:
            continue
        why = _stays(one, summaries, weights, needed, is_open, is_pinned)
        if why:
            spared.append(SessionTree(one.summary, one.ids, one.bytes, one.updated, why))
            continue
        due.append(one)
        total -= one.bytes
    return PrunePlan(limits, tuple(due), tuple(spared), sizes.total)


def session_trees(summaries: Sequence[SessionSummary], sizes: DiskUsage) -> list[SessionTree]:
    """Return the sessions that nobody's ``task`` call began, each with those it began."""
    weights = {one.id: one.bytes for one in sizes.sessions}
    known = {one.id: one for one in summaries}
    found = []
    for one in summaries:
        if one.parent_id is not None and one.parent_id in known:
            continue
        ids = with_children(summaries, one.id)
        updated = max(known[name].updated for name in ids if name in known)
        found.append(SessionTree(one, ids, sum(weights.get(name, 0) for name in ids), updated))
    return found


def _stays(
    family: SessionTree,
    summaries: Sequence[SessionSummary],
    sizes: Mapping[str, SessionSize],
    needed: frozenset[str],
    is_open: Callable[[str], bool],
    is_pinned: Callable[[str], bool],
) -> str:
    """Return why a family is never taken; empty when it may go."""
    shared = {one.id for one in summaries if one.shared}
    if any(is_open(one) or (one in sizes and sizes[one].in_use) for one in family.ids):
        return "in use"
    if any(one in needed for one in family.ids):
        return "a fork needs it"
    if any(one in shared for one in family.ids):
        return "shared"
    if any(is_pinned(one) for one in family.ids):
        return "something in it is pinned"
    return ""


def _needed(summaries: Sequence[SessionSummary]) -> frozenset[str]:
    places = [one.forked_from for one in summaries if one.forked_from is not None]
    others = (place.segment.rpartition("/")[0] for place in places)
    return frozenset({place.session_id for place in places} | {one for one in others if one})


def parse_size(text: str) -> int:
    """Read a number of bytes such as ``1GB`` or ``500 MB``; raises UserError."""
    match = SIZE.fullmatch(text.strip())
    unit = UNITS.get(match[2].lower()) if match is not None else None
    if match is None or unit is None:
        raise UserError(f"{text!r} is not a size. Write it as 500MB or 1.5GB.")
    return round(float(match[1]) * unit)


def holds_pins(store: Store, session_id: str) -> bool:
    """Tell whether a person pinned something in a session, and left it so."""
    if isinstance(store, JsonlStore) and not store.says(session_id, *PINS):
        return False
    state = store.load(session_id)
    return bool(pinned_parts(state.messages(), state.decisions))
