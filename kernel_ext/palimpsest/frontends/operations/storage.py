"""Show the disk usage and the sessions that may be deleted by age or size, or delete them."""

import datetime
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_base.grammar import OptionError
from palimpsest.frontends.operation_base.operation import (
    InKernel,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import OutputLines, Rows, TitledTable
from palimpsest.frontends.operation_text.session_list import local_time
from palimpsest.frontends.protocol.answers import StorageReport, StorageRow
from palimpsest.render.content.phrases import count, counted_noun, size_text
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.open_sessions.storage_cleanup import (
    Pruned,
    StorageUse,
    measure_storage,
    prune_storage,
)
from palimpsest.session.records.retention import (
    PrunePlan,
    RetentionLimits,
    SessionTree,
    parse_size,
    session_trees,
)
from palimpsest.store.blobs.blob_sweep import DAY_SECONDS, Sweep, UnneededBlob
from palimpsest.store.blobs.disk_usage import DiskUsage
from palimpsest.store.interface import SessionSummary

NOTHING_UNNEEDED = "Every kept text is needed by a session; there is nothing to clean up."
SIZE_FIELDS = ("total", "logs", "blobs", "snapshots", "share", "other")
MAX_DAYS = 100_000
MAX_LISTED_SESSIONS = 20
"""Maximum sessions that are listed; the largest, since deleting those frees the most."""


class MeasuredStorage(StorageReport):
    """The disk usage of the project's folder and what may be deleted; ``use`` and ``pruned`` are for Python."""

    use: InKernel[StorageUse]
    pruned: InKernel[Pruned]
    retention: RetentionSettings = Field(exclude=True)


def _parse_prune(argument_text: str) -> dict[str, Any] | None:
    """Parse ``prune [--days N] [--max-size 1GB] [--yes]``."""
    if not argument_text:
        return {}
    verb, *options = argument_text.split()
    if verb != "prune":
        return None
    values: dict[str, Any] = {"prune": True}
    option_words = iter(options)
    for option_word in option_words:
        match option_word:
            case "--days":
                values["days"] = _parse_days(next(option_words, ""))
            case "--max-size":
                values["max_size"] = parse_size(next(option_words, ""))
            case "--yes":
                values["delete"] = True
            case _:
                raise OptionError(
                    f"There is no option {option_word} of %agent storage prune. Known: --days N, --max-size 1GB, --yes."
                )
    return values


def _parse_days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < MAX_DAYS:
        raise OptionError("--days needs a number of days: %agent storage prune --days 90.")
    return days


class ShowStorage(Operation):
    """Measure the project's folder, and list or delete the sessions that may be deleted."""

    type: Literal["storage"] = "storage"
    days: float | None = None
    """Age in days from which an unused session may be deleted; None means the configured number."""
    max_size: int | str | None = None
    """Largest size of the folder: bytes, or text such as ``2GB``."""
    delete: bool = False
    """Delete the sessions that may be deleted, for good."""
    prune: bool = False
    """A cell shows what may be deleted, instead of the disk usage."""
    forms = single_form(
        "storage",
        "what the sessions take; %agent storage prune [--days N] [--max-size 1GB] [--yes]",
        parse_rest=_parse_prune,
        keywords=("prune",),
        is_never_prompt=True,
    )

    async def run(self, context: OperationContext) -> MeasuredStorage:
        services = context.services
        retention, workspace = services.config.value.retention, services.workspace
        pruned = await prune_storage(
            workspace,
            retention,
            days=self.days,
            max_size=self.max_size,
            delete=self.delete,
            locked_settings=services.locked_settings,
        )
        for tree in pruned.sessions_gone or ():
            for session_id in tree.ids:
                context.forget(session_id)
        use = await measure_storage(workspace, retention)
        sizes = use.sizes
        return MeasuredStorage(
            **{name: getattr(sizes, name) for name in SIZE_FIELDS},
            sessions=_storage_rows(session_trees(use.sessions, sizes)),
            due=_storage_rows(pruned.plan.due),
            spared=_storage_rows(pruned.plan.spared),
            unneeded=sum(blob.bytes for blob in pruned.unneeded.due_blobs),
            gone=_storage_rows(pruned.sessions_gone) if pruned.sessions_gone is not None else None,
            use=use,
            pruned=pruned,
            retention=retention,
        )

    def output(self, answer: MeasuredStorage) -> OutputLines:
        use, pruned, unneeded_days = answer.use, answer.pruned, answer.retention.texts
        if not self.prune:
            return [
                *storage_lines(use.sizes, use.sessions),
                sweep_text(use.unneeded, unneeded_days, None),
            ]
        return [
            *plan_lines(pruned.plan, pruned.sessions_gone),
            sweep_text(pruned.unneeded, unneeded_days, pruned.texts_gone),
        ]


def _storage_rows(trees: Sequence[SessionTree]) -> tuple[StorageRow, ...]:
    return tuple(
        StorageRow(
            id=tree.summary.id,
            title=tree.summary.title,
            bytes=tree.bytes,
            updated=tree.updated,
            with_children=len(tree.ids),
            why=tree.reason_to_keep or None,
        )
        for tree in trees
    )


def storage_lines(sizes: DiskUsage, summaries: Sequence[SessionSummary]) -> OutputLines:
    """Return the disk usage of the folder, the largest sessions first."""
    rows: Rows = [
        ("sessions", size_text(sizes.logs), counted_noun(len(sizes.sessions), "log")),
        ("long texts and pictures", size_text(sizes.blobs), counted_noun(sizes.blob_count, "file")),
        ("snapshots of files", size_text(sizes.snapshots), ""),
        ("shared pages", size_text(sizes.share), ""),
        ("the rest", size_text(sizes.other), ""),
        ("together", size_text(sizes.total), ""),
    ]
    lines: list[str | TitledTable] = [TitledTable("", ("what", "takes", ""), rows)]
    trees = sorted(session_trees(summaries, sizes), key=lambda tree: -tree.bytes)
    if trees:
        lines.append(
            _session_table(
                "The largest sessions, with what only they need", trees[:MAX_LISTED_SESSIONS]
            )
        )
    if len(trees) > MAX_LISTED_SESSIONS:
        lines.append(f"{count(len(trees) - MAX_LISTED_SESSIONS)} smaller ones are not listed.")
    return lines


def _session_table(title: str, trees: Sequence[SessionTree]) -> TitledTable:
    rows = [
        (tree.summary.id, tree.summary.title, size_text(tree.bytes), local_time(tree.updated))
        for tree in trees
    ]
    return TitledTable(title, ("session", "title", "takes", "last used"), rows)


def plan_lines(plan: PrunePlan, deleted_trees: Sequence[SessionTree] | None) -> OutputLines:
    """Return the sessions that would be or were deleted, and those that are never deleted."""
    limits_phrase = limits_text(plan.limits)
    if not limits_phrase:
        return []
    if not plan.due and not plan.spared:
        return [f"No session is over the limits ({limits_phrase})."]
    lines: list[str | TitledTable] = []
    if deleted_trees is not None:
        lines.append(
            f"Deleted {_session_count_text(deleted_trees)} ({size_text(sum(tree.bytes for tree in deleted_trees))})."
        )
        used_trees = [tree for tree in plan.due if tree not in deleted_trees]
        if used_trees:
            lines.append(f"{_session_count_text(used_trees)} came into use meanwhile and stayed.")
    elif plan.due:
        lines.append(_session_table(f"Would go ({limits_phrase})", plan.due))
        lines.append(
            f"{_session_count_text(plan.due)}, {size_text(plan.freed_bytes)}. The same with --yes deletes "
            f"{'it' if len(plan.due) == 1 else 'them'}, for good."
        )
    if plan.spared:
        rows: Rows = [
            (tree.summary.id, tree.summary.title, size_text(tree.bytes), tree.reason_to_keep)
            for tree in plan.spared
        ]
        lines.append(TitledTable("Never taken", ("session", "title", "takes", "why"), rows))
    return lines


def limits_text(limits: RetentionLimits) -> str:
    """Return the limits as text; empty where there are none."""
    phrases = []
    if limits.days is not None:
        phrases.append(f"not used for {_days_text(limits.days)}")
    if limits.max_bytes is not None:
        phrases.append(f"more than {size_text(limits.max_bytes)} together")
    return ", ".join(phrases)


def sweep_text(sweep: Sweep, days: float, deleted_blobs: Sequence[UnneededBlob] | None) -> str:
    """Return sentences on unneeded texts, which are kept for ``days``, and on deleted ones, None where none was to be."""
    sentences = []
    if sweep.snapshot_bytes:
        snapshots_text = (
            f"snapshots of files that no session needs ({size_text(sweep.snapshot_bytes)})"
        )
        sentences.append(
            f"Deleted {snapshots_text}."
            if deleted_blobs is not None
            else f"There are {snapshots_text}; prune --yes deletes them."
        )
    if not sweep.due_blobs and not sweep.not_yet_due:
        return " ".join(sentences) or NOTHING_UNNEEDED
    if deleted_blobs is not None and sweep.due_blobs:
        sentences.append(f"Deleted {_blob_count_text(deleted_blobs)}.")
    elif sweep.due_blobs:
        them = "it" if len(sweep.due_blobs) == 1 else "them"
        sentences.append(
            f"{_blob_count_text(sweep.due_blobs)} {'was' if len(sweep.due_blobs) == 1 else 'were'} not needed by any "
            f"session for {_days_text(days)}. %agent storage prune --yes deletes {them}, for good."
        )
    if sweep.not_yet_due:
        first_deletion_at = (
            min(blob.unneeded_since for blob in sweep.not_yet_due) + days * DAY_SECONDS
        )
        first_deletion_day = datetime.datetime.fromtimestamp(
            first_deletion_at, tz=datetime.UTC
        ).astimezone()
        sentences.append(
            f"{_blob_count_text(sweep.not_yet_due)} {'is' if len(sweep.not_yet_due) == 1 else 'are'} no longer needed "
            f"and kept for {_days_text(days)}, until {first_deletion_day:%Y-%m-%d} at the earliest."
        )
    sentences.append(f"{count(sweep.needed_count)} others are needed by sessions and stay.")
    return " ".join(sentences)


def _session_count_text(trees: Sequence[SessionTree]) -> str:
    return counted_noun(sum(len(tree.ids) for tree in trees), "session")


def _blob_count_text(blobs: Sequence[UnneededBlob]) -> str:
    return (
        f"{counted_noun(len(blobs), 'kept text')} ({size_text(sum(blob.bytes for blob in blobs))})"
    )


def _days_text(days: float) -> str:
    number = f"{days:g}"
    return "1 day" if number == "1" else f"{number} days"
