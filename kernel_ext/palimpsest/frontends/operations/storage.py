"""Show the disk usage, and what may be deleted by age or size, or delete it."""

import datetime
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_text.command_output import Lines, PolicySection, Rows
from palimpsest.frontends.operation_text.session_list import day
from palimpsest.frontends.operations.grammar import OptionError
from palimpsest.frontends.operations.operation import Desk, Form, InKernel, Operation
from palimpsest.frontends.protocol.project import StorageReport, StorageRow
from palimpsest.render.content.phrases import count, size_text, some
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.open_sessions.storage_cleanup import (
    Pruned,
    StorageUse,
    prune_storage,
    weigh_storage,
)
from palimpsest.session.records.retention import (
    PrunePlan,
    RetentionLimits,
    SessionTree,
    parse_size,
    session_trees,
)
from palimpsest.store.blobs.blob_sweep import DAY, Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import SessionSummary

NOTHING = "Every kept text is needed by a session; there is nothing to clean up."
MEASURED = ("total", "logs", "blobs", "snapshots", "share", "other")
MOST_ROWS = 20
"""How many sessions are listed: the largest, since deleting those frees the most."""


class MeasuredStorage(StorageReport):
    """The disk usage of the project's folder, and what of it may be deleted, with what Python returns of it."""

    use: InKernel[StorageUse]
    pruned: InKernel[Pruned]
    kept: RetentionSettings = Field(exclude=True)


def _prune(rest: str) -> dict[str, Any] | None:
    """Read ``prune [--days N] [--max-size 1GB] [--yes]``."""
    if not rest:
        return {}
    first, *given = rest.split()
    if first != "prune":
        return None
    values: dict[str, Any] = {"prune": True}
    words = iter(given)
    for word in words:
        match word:
            case "--days":
                values["days"] = _days_of(next(words, ""))
            case "--max-size":
                values["max_size"] = parse_size(next(words, ""))
            case "--yes":
                values["delete"] = True
            case _:
                raise OptionError(
                    f"There is no option {word} of %agent storage prune. Known: --days N, --max-size 1GB, --yes."
                )
    return values


def _days_of(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < 100_000:
        raise OptionError("--days needs a number of days: %agent storage prune --days 90.")
    return days


class ShowStorage(Operation):
    """Measure the project's folder, and list the sessions that may be deleted, or delete them first."""

    type: Literal["storage"] = "storage"
    days: float | None = None
    """Age in days from which an unused session may be deleted; None takes the configured number."""
    max_size: int | str | None = None
    """Largest size of the folder: bytes, or text such as ``2GB``."""
    delete: bool = False
    """Delete the sessions that may be deleted, for good."""
    prune: bool = False
    """A cell shows what may be deleted, instead of what there is."""
    forms = (
        Form(
            "storage",
            "what the sessions take; %agent storage prune [--days N] [--max-size 1GB] [--yes]",
            read=_prune,
            keywords=("prune",),
            begins_no_prompt=True,
        ),
    )

    async def run(self, at: Desk) -> MeasuredStorage:
        services = at.services
        kept, workspace = services.config.value.retention, services.workspace
        pruned = await prune_storage(
            workspace,
            kept,
            days=self.days,
            max_size=self.max_size,
            delete=self.delete,
            locked_settings=services.locked_settings,
        )
        for family in pruned.sessions_gone or ():
            for one in family.ids:
                at.forget(one)
        use = await weigh_storage(workspace, kept)
        sizes = use.sizes
        return MeasuredStorage(
            **{name: getattr(sizes, name) for name in MEASURED},
            sessions=_rows(session_trees(use.sessions, sizes)),
            due=_rows(pruned.plan.due),
            spared=_rows(pruned.plan.spared),
            unneeded=sum(one.bytes for one in pruned.unneeded.due),
            gone=_rows(pruned.sessions_gone) if pruned.sessions_gone is not None else None,
            use=use,
            pruned=pruned,
            kept=kept,
        )

    def output(self, answer: MeasuredStorage) -> Lines:
        use, pruned, days = answer.use, answer.pruned, answer.kept.texts
        if not self.prune:
            return [*storage_lines(use.sizes, use.sessions), sweep_text(use.unneeded, days, None)]
        return [
            *plan_lines(pruned.plan, pruned.sessions_gone),
            sweep_text(pruned.unneeded, days, pruned.texts_gone),
        ]


def _rows(found: Sequence[SessionTree]) -> tuple[StorageRow, ...]:
    return tuple(
        StorageRow(
            id=one.summary.id,
            title=one.summary.title,
            bytes=one.bytes,
            updated=one.updated,
            with_children=len(one.ids),
            why=one.stays or None,
        )
        for one in found
    )


def storage_lines(sizes: DiskUsage, summaries: Sequence[SessionSummary]) -> Lines:
    """Return the disk usage of the folder, the largest sessions first."""
    rows: Rows = [
        (
            "sessions",
            size_text(sizes.logs),
            some(len(sizes.sessions), "log"),
        ),
        (
            "long texts and pictures",
            size_text(sizes.blobs),
            some(sizes.blob_count, "file"),
        ),
        ("snapshots of files", size_text(sizes.snapshots), ""),
        ("shared pages", size_text(sizes.share), ""),
        ("the rest", size_text(sizes.other), ""),
        ("together", size_text(sizes.total), ""),
    ]
    said: list[str | PolicySection] = [PolicySection("", ("what", "takes", ""), rows)]
    found = sorted(session_trees(summaries, sizes), key=lambda one: -one.bytes)
    if found:
        said.append(_used("The largest sessions, with what only they need", found[:MOST_ROWS]))
    if len(found) > MOST_ROWS:
        said.append(f"{count(len(found) - MOST_ROWS)} smaller ones are not listed.")
    return said


def _used(title: str, found: Sequence[SessionTree]) -> PolicySection:
    rows = [
        (one.summary.id, one.summary.title, size_text(one.bytes), day(one.updated)) for one in found
    ]
    return PolicySection(title, ("session", "title", "takes", "last used"), rows)


def plan_lines(found: PrunePlan, gone: Sequence[SessionTree] | None) -> Lines:
    """Return which sessions would be deleted, or were, and which are never deleted."""
    limits = limits_text(found.limits)
    if not limits:
        return []
    if not found.due and not found.spared:
        return [f"No session is over the limits ({limits})."]
    said: list[str | PolicySection] = []
    if gone is not None:
        said.append(f"Deleted {_sessions(gone)} ({size_text(sum(one.bytes for one in gone))}).")
        left = [one for one in found.due if one not in gone]
        if left:
            said.append(f"{_sessions(left)} came into use meanwhile and stayed.")
    elif found.due:
        said.append(_used(f"Would go ({limits})", found.due))
        said.append(
            f"{_sessions(found.due)}, {size_text(found.freed)}. The same with --yes deletes "
            f"{'it' if len(found.due) == 1 else 'them'}, for good."
        )
    if found.spared:
        kept: Rows = [
            (one.summary.id, one.summary.title, size_text(one.bytes), one.stays)
            for one in found.spared
        ]
        said.append(PolicySection("Never taken", ("session", "title", "takes", "why"), kept))
    return said


def limits_text(limits: RetentionLimits) -> str:
    """Return the limits as text; empty where there are none."""
    said = []
    if limits.days is not None:
        said.append(f"not used for {_days(limits.days)}")
    if limits.most_bytes is not None:
        said.append(f"more than {size_text(limits.most_bytes)} together")
    return ", ".join(said)


def sweep_text(found: Sweep, days: float, gone: Sequence[UnneededBlob] | None) -> str:
    """Return which texts are unneeded, and which were deleted; ``gone`` is None if nothing was to be."""
    said = []
    if found.snapshot_bytes:
        takes = f"snapshots of files that no session needs ({size_text(found.snapshot_bytes)})"
        said.append(
            f"Deleted {takes}."
            if gone is not None
            else f"There are {takes}; prune --yes deletes them."
        )
    if not found.due and not found.waiting:
        return " ".join(said) or NOTHING
    if gone is not None and found.due:
        said.append(f"Deleted {_texts(gone)}.")
    elif found.due:
        them = "it" if len(found.due) == 1 else "them"
        said.append(
            f"{_texts(found.due)} {'was' if len(found.due) == 1 else 'were'} not needed by any "
            f"session for {_days(days)}. %agent storage prune --yes deletes {them}, for good."
        )
    if found.waiting:
        first = min(one.since for one in found.waiting) + days * DAY
        moment = datetime.datetime.fromtimestamp(first, tz=datetime.UTC).astimezone()
        said.append(
            f"{_texts(found.waiting)} {'is' if len(found.waiting) == 1 else 'are'} no longer needed "
            f"and kept for {_days(days)}, until {moment:%Y-%m-%d} at the earliest."
        )
    said.append(f"{count(found.needed)} others are needed by sessions and stay.")
    return " ".join(said)


def _sessions(found: Sequence[SessionTree]) -> str:
    return some(sum(len(one.ids) for one in found), "session")


def _texts(found: Sequence[UnneededBlob]) -> str:
    return f"{some(len(found), 'kept text')} ({size_text(sum(one.bytes for one in found))})"


def _days(days: float) -> str:
    number = f"{days:g}"
    return "1 day" if number == "1" else f"{number} days"
