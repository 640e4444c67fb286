"""What the subcommands of ``palimpsest`` do: import into a project, inspect recordings, compare policies or sessions."""

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from palimpsest.frontends import terminal
from palimpsest.frontends.command_line.condition import read_condition
from palimpsest.frontends.command_line.report_output import CommandReport, OutputForm, tell, write
from palimpsest.frontends.command_line.session_report import session_report
from palimpsest.frontends.command_line.threshold import failed, read_baseline
from palimpsest.frontends.inspector.report_file import write_report
from palimpsest.review.comparison.recorded_comparison import compare_recorded
from palimpsest.review.comparison.session_review import PolicyLike, SessionReview
from palimpsest.review.importers.built_in import REGISTRY
from palimpsest.review.policies.recorded_policy import RECORDED
from palimpsest.review.recordings.preset_policies import policy_from_words, preset_names
from palimpsest.review.recordings.recording import Recording, open_recording
from palimpsest.review.recordings.recording_review import RecordingReview
from palimpsest.review.replay.simulation import RAW
from palimpsest.store.exchange.importer import ImportControl
from palimpsest.store.log.store_factory import find_project, open_store
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.visible_text import visible_line

ALL = "all"
FAILED = 1


def run_command(given: Namespace) -> int:
    """Run a subcommand and write its report; returns the exit code. Raises UserError."""
    conditions = [read_condition(one) for one in getattr(given, "fail_if", None) or ()]
    named = getattr(given, "baseline", None)
    if named and not conditions:
        raise UserError("--baseline is for a condition; give --fail-if as well.")
    baseline = read_baseline(Path(named)) if named else None
    report = _COMMANDS[given.command](given)
    over = failed(conditions, report.json(), baseline) if conditions else []
    write(report.written(_form(given)))
    tell(one.sentence for one in report.problems)
    tell(over)
    return FAILED if over else 0


def _form(given: Namespace) -> OutputForm:
    if given.json:
        return "json"
    return "markdown" if getattr(given, "markdown", False) else "text"


def _import(given: Namespace) -> CommandReport:
    start = Path(given.project).expanduser() if given.project else find_project(Path.cwd())
    if not start.is_dir():
        raise UserError(
            f"There is no folder {str(start)!r}; --project names the folder of a project."
        )
    store, in_memory = open_store(start)
    if in_memory is not None:
        raise UserError(in_memory)
    with _progress() as control:
        found = REGISTRY.import_from(store, Path(given.path).expanduser(), _now, control)
    words = [
        f"{one.outcome:<8} {one.id}  {one.messages:>6,} messages  {visible_line(one.title)}"
        for one in found.sessions
    ]
    words.append(f"{len(found.sessions)} sessions are in {start}.")
    sessions = [
        {
            "session": one.id,
            "title": one.title,
            "outcome": one.outcome,
            "messages": one.messages,
        }
        for one in found.sessions
    ]
    values: dict[str, Any] = {"project": str(start), "sessions": sessions}
    return CommandReport("import", values, problems=found.problems, words=words)


def _inspect(given: Namespace) -> CommandReport:
    with _opened(given.path, given) as recording:
        reports = [session_report(one) for one in _chosen(recording, given.session)]
        return CommandReport(
            "inspect",
            {"path": given.path, "sessions": [one.json() for one in reports]},
            [table for one in reports for table in one.tables],
            recording.problems,
        )


def _compare(given: Namespace) -> CommandReport:
    first, *others = given.path
    if len(others) > 1:
        raise UserError("compare takes one recording with policies, or two recordings.")
    if others and (given.policy or given.summary):
        raise UserError(
            "Policies are compared over one recording; give one, or neither --policy nor --summary."
        )
    return _compare_recorded(given, first, others[0]) if others else _compare_policies(given, first)


def _compare_policies(given: Namespace, path: str) -> CommandReport:
    policies = _policies([one for many in given.policy or [[ALL]] for one in many])
    with _opened(path, given) as recording:
        compared = [
            one.compare(policies, window=given.window, summary=given.summary)
            for one in _chosen(recording, given.session, with_requests=True)
        ]
        return CommandReport(
            "compare",
            {"path": path, "comparisons": [one.json() for one in compared]},
            [one.table for one in compared],
            recording.problems,
        )


def _compare_recorded(given: Namespace, first: str, second: str) -> CommandReport:
    with _opened(first, given) as one, _opened(second, given) as other:
        left = next(_chosen(one, given.session, with_requests=True))
        right = next(_chosen(other, "", with_requests=True))
        compared = compare_recorded(left, right)
        return CommandReport(
            "compare",
            {"paths": [first, second], "sessions": compared.json()["sessions"]},
            [compared.table],
            (*one.problems, *other.problems),
        )


def _report(given: Namespace) -> CommandReport:
    with _opened(given.path, given) as recording:
        review = next(_chosen(recording, given.session, with_requests=True))
        written = write_report(
            review,
            given.output,
            environment=os.environ,
            policies=[one for many in given.policy or () for one in many],
            texts=given.texts,
        )
        size = written.stat().st_size
        session = review.timeline.session
        return CommandReport(
            "report",
            {"path": given.path, "session": session, "file": str(written), "bytes": size},
            problems=recording.problems,
            words=[f"{written} holds session {session}, {size / 1e3:,.0f} kB; it loads nothing."],
        )


_COMMANDS: Mapping[str, Callable[[Namespace], CommandReport]] = {
    "import": _import,
    "inspect": _inspect,
    "compare": _compare,
    "report": _report,
}


def _policies(words: list[str]) -> list[PolicyLike]:
    every = (RECORDED, RAW, *preset_names())
    wanted = [name for one in words for name in (every if one == ALL else (one,))]
    return [policy_from_words(one) for one in dict.fromkeys(wanted)]


def _chosen(
    recording: Recording[RecordingReview], session: str, *, with_requests: bool = False
) -> Iterator[SessionReview]:
    """Yield the sessions that are asked for: one by id or number from 1, else all; those of subagents last.

    ``with_requests`` leaves out sessions without any, and those of subagents.
    """
    if session:
        yield _session(recording, session)
        return
    found = 0
    for one in recording:
        is_wanted = one.timeline.requests and one.timeline.parent is None
        if is_wanted or not with_requests:
            found += 1
            yield one
    if not found:
        raise UserError("The recording has no session with a request, so there is nothing to say.")


def _session(recording: Recording[RecordingReview], session: str) -> SessionReview:
    if not session.isdecimal():
        return recording[session]
    if not 0 < int(session) <= len(recording):
        raise UserError(
            f"The recording has no session number {session}; it has {len(recording)} sessions."
        )
    return recording[int(session) - 1]


@contextmanager
def _opened(path: str, given: Namespace) -> Iterator[Recording[RecordingReview]]:
    with _progress() as control:
        recording = open_recording(
            path, control=control, price=given.price, lifetime=given.lifetime
        )
    with recording:
        yield recording


@contextmanager
def _progress() -> Iterator[ImportControl]:
    """Show how far a large source is read, on a terminal only."""
    if not sys.stderr.isatty():
        yield ImportControl()
        return
    shown = 0.0

    def told(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > 0.2 and total > LARGE_BYTES:
            shown = now
            terminal.show_progress(f"{min(done / total, 1.0):4.0%} of {total / 1e6:,.0f} MB read ")

    yield ImportControl(told)
    if shown:
        terminal.end_progress()


LARGE_BYTES = 5_000_000
"""Smaller sources are read before anybody could look."""


def _now() -> int:
    return time.time_ns() // 1_000_000
