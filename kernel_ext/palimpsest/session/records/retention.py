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
BYTES_BY_UNIT = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long and how much is kept; None means without limit."""

    days: float | None = None
    """Days since a session was last used."""
    max_bytes: int | None = None
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
    disk_usage: DiskUsage,
    limits: RetentionLimits,
    now_ms: int,
    is_open: Callable[[str], bool],
    is_pinned: Callable[[str], bool],
) -> PrunePlan:
    """Return which sessions would be deleted under these limits.

    A session that is open or written by any kernel, shared, needed by a fork, or that holds something
    the user pinned is never deleted. ``now_ms`` is in milliseconds since 1970.
    """
    trees = session_trees(summaries, disk_usage)
    trees.sort(key=lambda tree: (tree.updated, tree.summary.id))
    used_ids = frozenset(session.id for session in disk_usage.sessions if session.in_use)
    needed_ids = _needed_by_forks(summaries)
    due, spared = [], []
    total_bytes = disk_usage.total
    for tree in trees:
        is_old = limits.days is not None and now_ms - tree.updated >= limits.days * DAY_MS
        is_large = limits.max_bytes is not None and total_bytes > limits.max_bytes
        if not is_old and not is_large:
            continue
        reason = _reason_to_keep(tree, summaries, used_ids, needed_ids, is_open, is_pinned)
        if reason:
            spared.append(replace(tree, reason_to_keep=reason))
            continue
        due.append(tree)
        total_bytes -= tree.bytes
    return PrunePlan(limits, tuple(due), tuple(spared), disk_usage.total)


def session_trees(summaries: Sequence[SessionSummary], disk_usage: DiskUsage) -> list[SessionTree]:
    """Return the sessions that have no parent, each with its child sessions."""
    bytes_by_id = {session.id: session.bytes for session in disk_usage.sessions}
    by_id = {summary.id: summary for summary in summaries}
    trees = []
    for summary in summaries:
        if summary.parent_id is not None and summary.parent_id in by_id:
            continue
        ids = with_children(summaries, summary.id)
        updated = max(by_id[session_id].updated for session_id in ids if session_id in by_id)
        size = sum(bytes_by_id.get(session_id, 0) for session_id in ids)
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
    fork_origins = [summary.forked_from for summary in summaries if summary.forked_from is not None]
    log_owner_ids = (fork_origin.segment.rpartition("/")[0] for fork_origin in fork_origins)
    return frozenset(
        [*(fork_origin.session_id for fork_origin in fork_origins), *filter(None, log_owner_ids)]
    )


def parse_size(text: str) -> int:
    """Parse a size such as ``1GB`` or ``500 MB`` into bytes; raises UserError."""
    match = SIZE_PATTERN.fullmatch(text.strip())
    unit = BYTES_BY_UNIT.get(match[2].lower()) if match is not None else None
    if match is None or unit is None:
        raise UserError(f"{text!r} is not a size. Write it as 500MB or 1.5GB.")
    return round(float(match[1]) * unit)


def holds_pins(store: Store, session_id: str) -> bool:
    """Return whether the user pinned something in a session that is still pinned."""
    if isinstance(store, JsonlStore) and not store.may_contain(session_id, *PIN_MARKS):
        return False
    state = store.load(session_id)
    return bool(pinned_part_ids(state.messages(), state.decisions))
