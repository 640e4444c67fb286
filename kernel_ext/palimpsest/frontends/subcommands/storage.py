"""Run ``%agent storage``: show the disk usage, and what may be deleted by age or size, or delete it.

Border: text from values; ``frontends/subcommands/dispatch.py`` shows it.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.frontends.cell_turn.services import FrontendServices, Pages
from palimpsest.frontends.subcommands.policy import PolicySection, Rows
from palimpsest.frontends.subcommands.sessions import SessionLines, day
from palimpsest.render.content.phrases import count, size_text
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.open_sessions.storage_cleanup import prune_storage, weigh_storage
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
from palimpsest.transcript.errors import UserError

NOTHING = "Every kept text is needed by a session; there is nothing to clean up."
MOST_ROWS = 20
"""How many sessions are listed: the largest, since deleting those frees the most."""


@dataclass(frozen=True, slots=True)
class PruneOptions:
    """The options of ``%agent storage prune``."""

    days: float | None = None
    most_bytes: int | None = None
    yes: bool = False


def read_prune(argument: str) -> PruneOptions:
    """Parse the options of ``%agent storage prune``; raises UserError."""
    days: float | None = None
    most: int | None = None
    yes = False
    given = iter(argument.split())
    for word in given:
        match word:
            case "--days":
                days = _days_of(next(given, ""))
            case "--max-size":
                most = parse_size(next(given, ""))
            case "--yes":
                yes = True
            case _:
                raise UserError(
                    f"There is no option {word}. Known: --days N, --max-size 1GB, --yes."
                )
    return PruneOptions(days, most, yes)


def _days_of(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < 100_000:
        raise UserError("--days needs a number of days: %agent storage prune --days 90.")
    return days


class StorageCommands:
    """Runs ``%agent storage``."""

    def __init__(self, services: FrontendServices, pages: Pages) -> None:
        self._services = services
        self._pages = pages

    def run(self, argument: str) -> SessionLines:
        """Show the disk usage; with ``prune``, what may be deleted, and with ``--yes`` delete it."""
        workspace, done = self._services.workspace, self._services.engine.submit
        config = getattr(self._services, "config", None)
        kept = config.value.retention if config is not None else RetentionSettings()
        if not argument:
            found = done(weigh_storage(workspace, kept)).result()
            said = storage_lines(found.sizes, found.sessions)
            return [*said, sweep_text(found.unneeded, kept.texts, None)]
        wanted = read_prune(argument.partition(" ")[2])
        pruned = done(
            prune_storage(
                workspace,
                kept,
                days=wanted.days,
                max_size=wanted.most_bytes,
                delete=wanted.yes,
                locked_settings=getattr(self._services, "locked_settings", None),
            )
        ).result()
        for family in pruned.sessions_gone or ():
            for one in family.ids:
                self._pages.forget(one)
        return [
            *plan_lines(pruned.plan, pruned.sessions_gone),
            sweep_text(pruned.unneeded, kept.texts, pruned.texts_gone),
        ]


def storage_lines(sizes: DiskUsage, summaries: Sequence[SessionSummary]) -> SessionLines:
    """Return the disk usage of the folder, the largest sessions first."""
    rows: Rows = [
        (
            "sessions",
            size_text(sizes.logs),
            f"{count(len(sizes.sessions))} {'log' if len(sizes.sessions) == 1 else 'logs'}",
        ),
        (
            "long texts and pictures",
            size_text(sizes.blobs),
            f"{count(sizes.blob_count)} {'file' if sizes.blob_count == 1 else 'files'}",
        ),
        ("snapshots of files", size_text(sizes.snapshots), ""),
        ("shared pages", size_text(sizes.share), ""),
        ("the rest", size_text(sizes.other), ""),
        ("together", size_text(sizes.total), ""),
    ]
    said: SessionLines = [PolicySection("", ("what", "takes", ""), rows)]
    found = sorted(session_trees(summaries, sizes), key=lambda one: -one.bytes)
    if found:
        head = ("session", "title", "takes", "last used")
        told: Rows = [
            (one.summary.id, one.summary.title, size_text(one.bytes), day(one.updated))
            for one in found[:MOST_ROWS]
        ]
        said.append(PolicySection("The largest sessions, with what only they need", head, told))
    if len(found) > MOST_ROWS:
        said.append(f"{count(len(found) - MOST_ROWS)} smaller ones are not listed.")
    return said


def plan_lines(found: PrunePlan, gone: Sequence[SessionTree] | None) -> SessionLines:
    """Return which sessions would be deleted, or were, and which are never deleted."""
    limits = limits_text(found.limits)
    if not limits:
        return []
    if not found.due and not found.spared:
        return [f"No session is over the limits ({limits})."]
    said: SessionLines = []
    if gone is not None:
        said.append(f"Deleted {_sessions(gone)} ({size_text(sum(one.bytes for one in gone))}).")
        left = [one for one in found.due if one not in gone]
        if left:
            said.append(f"{_sessions(left)} came into use meanwhile and stayed.")
    elif found.due:
        head = ("session", "title", "takes", "last used")
        rows: Rows = [
            (one.summary.id, one.summary.title, size_text(one.bytes), day(one.updated))
            for one in found.due
        ]
        said.append(PolicySection(f"Would go ({limits})", head, rows))
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
        said.append(
            f"{_texts(found.due)} {'was' if len(found.due) == 1 else 'were'} not needed by any "
            f"session for {_days(days)}. %agent storage prune --yes deletes {_them(found.due)}, for good."
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
    number = sum(len(one.ids) for one in found)
    return f"{count(number)} {'session' if number == 1 else 'sessions'}"


def _texts(found: Sequence[UnneededBlob]) -> str:
    what = "kept text" if len(found) == 1 else "kept texts"
    return f"{count(len(found))} {what} ({size_text(sum(one.bytes for one in found))})"


def _them(found: Sequence[UnneededBlob]) -> str:
    return "it" if len(found) == 1 else "them"


def _days(days: float) -> str:
    number = f"{days:g}"
    return "1 day" if number == "1" else f"{number} days"
