"""Weigh a project's folder, and make room in it, as every front end asks for it.

Border: puts together what the workspace measures, plans and deletes; the words for it are written
by ``frontends``. Nothing goes without ``delete``.
"""

from dataclasses import dataclass
from typing import Any

from palimpsest.session.config.locked_settings import LockedSettings
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.interfaces.project_sessions import ProjectSessions
from palimpsest.session.records.retention import PrunePlan, RetentionLimits, SessionTree, parse_size
from palimpsest.store.blobs.blob_sweep import Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError

MOST_DAYS = 100_000


@dataclass(frozen=True, slots=True)
class StorageUse:
    """What the folder holds."""

    sizes: DiskUsage
    sessions: tuple[SessionSummary, ...]
    unneeded: Sweep
    """Long texts that no session needs any more."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What would go, or went."""

    plan: PrunePlan
    unneeded: Sweep
    sessions_gone: tuple[SessionTree, ...] | None = None
    """None where nothing was deleted."""
    texts_gone: tuple[UnneededBlob, ...] | None = None


async def weigh_storage(workspace: ProjectSessions, kept: RetentionSettings) -> StorageUse:
    """Weigh the folder; raises UserError where nothing is kept on a disk."""
    sizes, sessions = await workspace.storage()
    found, _ = await workspace.sweep(kept.texts)
    return StorageUse(sizes, tuple(sessions), found)


async def prune_storage(
    workspace: ProjectSessions,
    kept: RetentionSettings,
    *,
    days: float | None = None,
    max_size: int | str | None = None,
    delete: bool = False,
    locked_settings: LockedSettings | None = None,
) -> Pruned:
    """Say what may go under limits of age and size, and delete it when asked to.

    A limit that is not given is the configured one. Raises UserError for one that is none or fixed.
    """
    limits, fixed = limits_of(kept, days, max_size), limits_of(kept, None, None)
    held = locked_settings or LockedSettings()
    held.refuse("retention.days", limits.days, fixed.days)
    held.refuse("retention.size", limits.most_bytes, fixed.most_bytes)
    if delete:
        planned, gone = await workspace.prune(limits)
    else:
        planned, gone = await workspace.plan(limits), None
    swept, texts = await workspace.sweep(kept.texts, delete=delete)
    return Pruned(planned, swept, gone, tuple(texts) if delete else None)


def limits_of(kept: RetentionSettings, days: Any, max_size: Any) -> RetentionLimits:
    """Return the limits that hold; raises UserError for one that is none."""
    if days is not None and not (isinstance(days, int | float) and 0 <= days < MOST_DAYS):
        raise UserError(f"{days!r} is not a number of days from 0 on.")
    wanted = max_size if max_size is not None else kept.size
    most = parse_size(wanted) if isinstance(wanted, str) else wanted
    if most is not None and not (isinstance(most, int) and most >= 0):
        raise UserError(f"{most!r} is not a size. Write it as 500MB or 1.5GB.")
    return RetentionLimits(days if days is not None else kept.days, most)
