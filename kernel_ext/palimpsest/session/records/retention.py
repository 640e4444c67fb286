"""Choose which sessions can be deleted, by age and by size, and give the reason why others are kept.

Border: chooses, and deletes nothing. Nothing is deleted until the user has seen the plan and confirms.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from palimpsest.session.records.session_search import with_children
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.transcript.context_values.decisions import pinned_part_ids
from palimpsest.transcript.errors import UserError

PIN_MARKS = (b'"action":"pin"', b'"pinned":true')
"""A log contains one of these if anything in it was pinned."""
DAY_MS = 86_400_000
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long and how much is kept; None means without limit."""

    days: float | None = None
    """Days since a session was last used."""
    most_bytes: int | None = None
    """Maximum size of the whole folder in bytes."""


@dataclass(frozen=True, slots=True)
class SessionTree:
    """A session with its child sessions, which are deleted together."""

    summary: SessionSummary
    ids: tuple[str, ...]
    """The ids of the tree's sessions, children before parents, the session's own last."""
    bytes: int
    updated: int
    """When a session of the tree was last used, in milliseconds since 1970."""
    reason_to_keep: str = ""
    """Why it is never deleted; empty where it may be deleted."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """The sessions that would be deleted."""

    limits: RetentionLimits
    due: tuple[SessionTree, ...] = ()
    """Oldest first."""
    spared: tuple[SessionTree, ...] = ()
    """Beyond a limit, but never deleted."""
    total: int = 0
    """The size of the whole folder in bytes."""

    @property
    def freed_bytes(self) -> int:
        """The bytes that deleting would free."""
        return sum(tree.bytes for tree in self.due)


def prune_plan(
    summaries: Sequence[SessionSummary],
    sizes: DiskUsage,
    limits: RetentionLimits,
    now_ms: int,
    is_open: Callable[[str], bool],
    is_pinned: Callable[[str], bool],
) -> PrunePlan:
    """Return which sessions would be deleted under these limits.

    A session that is open or written by any kernel, shared, needed by a fork, or that holds something
    the user pinned is never deleted. ``now_ms`` is in milliseconds since 1970.
    """
    trees = session_trees(summaries, sizes)
    trees.sort(key=lambda tree: (tree.updated, tree.summary.id))
    used_ids = frozenset(session.id for session in sizes.sessions if session.in_use)
    needed_ids = _needed_by_forks(summaries)
    due, spared = [], []
    total_bytes = sizes.total
    for tree in trees:
        is_old = limits.days is not None and now_ms - tree.updated >= limits.days * DAY_MS
        is_large = limits.most_bytes is not None and total_bytes > limits.most_bytes
        if not is_old and not is_large:
            continue
        reason = _reason_to_keep(tree, summaries, used_ids, needed_ids, is_open, is_pinned)
        if reason:
            spared.append(replace(tree, reason_to_keep=reason))
            continue
        due.append(tree)
        total_bytes -= tree.bytes
    return PrunePlan(limits, tuple(due), tuple(spared), sizes.total)


def session_trees(summaries: Sequence[SessionSummary], sizes: DiskUsage) -> list[SessionTree]:
    """Return the sessions that have no parent, each with its child sessions."""
    bytes_by_id = {session.id: session.bytes for session in sizes.sessions}
    by_id = {summary.id: summary for summary in summaries}
    trees = []
    for summary in summaries:
        if summary.parent_id is not None and summary.parent_id in by_id:
            continue
        ids = with_children(summaries, summary.id)
        updated = max(by_id[name].updated for name in ids if name in by_id)
        size = sum(bytes_by_id.get(name, 0) for name in ids)
        trees.append(SessionTree(summary, ids, size, updated))
    return trees


def _reason_to_keep(
    tree: SessionTree,
    summaries: Sequence[SessionSummary],
    used_ids: frozenset[str],
    needed_ids: frozenset[str],
    is_open: Callable[[str], bool],
    is_pinned: Callable[[str], bool],
) -> str:
    """Return why a session tree is never deleted; empty where it may be deleted."""
    shared_ids = {summary.id for summary in summaries if summary.shared}
    if any(map(is_open, tree.ids)) or not used_ids.isdisjoint(tree.ids):
        return "in use"
    if not needed_ids.isdisjoint(tree.ids):
        return "a fork needs it"
    if not shared_ids.isdisjoint(tree.ids):
        return "shared"
    if any(map(is_pinned, tree.ids)):
        return "something in it is pinned"
    return ""


def _needed_by_forks(summaries: Sequence[SessionSummary]) -> frozenset[str]:
    places = [summary.forked_from for summary in summaries if summary.forked_from is not None]
    others = (place.segment.rpartition("/")[0] for place in places)
    return frozenset([*(place.session_id for place in places), *filter(None, others)])


def parse_size(text: str) -> int:
    """Parse a size such as ``1GB`` or ``500 MB`` into bytes; raises UserError."""
    match = SIZE.fullmatch(text.strip())
    unit = UNITS.get(match[2].lower()) if match is not None else None
    if match is None or unit is None:
        raise UserError(f"{text!r} is not a size. Write it as 500MB or 1.5GB.")
    return round(float(match[1]) * unit)


def holds_pins(store: Store, session_id: str) -> bool:
    """Return whether the user pinned something in a session that is still pinned."""
    if isinstance(store, JsonlStore) and not store.may_contain(session_id, *PIN_MARKS):
        return False
    state = store.load(session_id)
    return bool(pinned_part_ids(state.messages(), state.decisions))
