"""Measure a project's folder, and delete old sessions and unneeded blobs from it.

Border: combines the workspace's measuring, planning and deleting; ``frontends`` writes the text about
it. Nothing is deleted without ``delete``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.records.retention import PrunePlan, RetentionLimits, SessionTree, parse_size
from palimpsest.store.blobs.blob_sweep import Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.workspace import Workspace

MAX_DAYS = 100_000
"""Number of days that no limit of age reaches."""


@dataclass(frozen=True, slots=True)
class StorageUse:
    """The disk usage of a project's folder."""

    sizes: DiskUsage
    sessions: tuple[SessionSummary, ...]
    unneeded: Sweep
    """Stored texts that no session needs any more."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """The sessions and stored texts that would be deleted, or were."""

    plan: PrunePlan
    unneeded: Sweep
    sessions_gone: tuple[SessionTree, ...] | None = None
    """The sessions that were deleted; None where nothing was to be deleted."""
    texts_gone: tuple[UnneededBlob, ...] | None = None


async def measure_storage(workspace: "Workspace", retention: RetentionSettings) -> StorageUse:
    """Measure the folder; raises UserError where sessions are in memory only."""
    sizes, sessions = await workspace.storage()
    sweep, _ = await workspace.sweep_texts(retention.texts)
    return StorageUse(sizes, tuple(sessions), sweep)


async def prune_storage(
    workspace: "Workspace",
    retention: RetentionSettings,
    *,
    days: float | None = None,
    max_size: int | str | None = None,
    delete: bool = False,
    locked_settings: LockedSettings | None = None,
) -> Pruned:
    """Return what may be deleted under limits of age and size, and delete it when ``delete`` is set.

    ``days`` is the age; ``max_size`` is in bytes or a text such as ``1GB``. A limit that is not given is the
    configured one. Raises UserError for an invalid limit, and ConfigError for one that an administrator fixed.
    """
    limits, configured_limits = (
        limits_of(retention, days, max_size),
        limits_of(retention, None, None),
    )
    fixed_settings = locked_settings or LockedSettings()
    fixed_settings.refuse("retention.days", limits.days, configured_limits.days)
    fixed_settings.refuse("retention.size", limits.max_bytes, configured_limits.max_bytes)
    if delete:
        removal_plan, deleted_trees = await workspace.prune(limits)
    else:
        removal_plan, deleted_trees = await workspace.plan(limits), None
    sweep, deleted_blobs = await workspace.sweep_texts(retention.texts, delete=delete)
    return Pruned(removal_plan, sweep, deleted_trees, tuple(deleted_blobs) if delete else None)


def limits_of(retention: RetentionSettings, days: Any, max_size: Any) -> RetentionLimits:
    """Return the limits that apply; raises UserError for an invalid one."""
    if days is not None and not (isinstance(days, int | float) and 0 <= days < MAX_DAYS):
        raise UserError(f"{days!r} is not a number of days from 0 on.")
    size = max_size if max_size is not None else retention.size
    max_bytes = parse_size(size) if isinstance(size, str) else size
    if max_bytes is not None and not (isinstance(max_bytes, int) and max_bytes >= 0):
        raise UserError(f"{max_bytes!r} is not a size. Write it as 500MB or 1.5GB.")
    return RetentionLimits(days if days is not None else retention.days, max_bytes)
