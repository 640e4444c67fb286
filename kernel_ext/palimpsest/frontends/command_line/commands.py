"""The operations of ``palimpsest``: import into a project, inspect recordings, compare policies or sessions, report.

They read recordings without a kernel and without a session. ``main.py`` makes its parser of their fields; review is
imported with the first answer.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict

from palimpsest.frontends import terminal
from palimpsest.frontends.command_line.report_output import CommandReport
from palimpsest.frontends.operations.operation import AsItIs, Desk, Operation
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.visible_text import visible_line

if TYPE_CHECKING:
    from palimpsest.review.comparison.session_review import PolicyLike, SessionReview
    from palimpsest.review.recordings.recording import Recording
    from palimpsest.review.recordings.recording_review import RecordingReview
    from palimpsest.store.exchange.importer import ImportControl

ALL = "all"


class Argument:
    """How a field is written on the command line: marks it in ``Annotated``, with what ``add_argument`` takes.

    A field with a default is an option of its name; its docstring is the help.
    """

    def __init__(self, metavar: str, *flags: str, **options: Any) -> None:
        self.flags = flags
        self.options = {"metavar": metavar, **options}


FileName = Annotated[str, AsItIs()]
"""A name of a file as the system gave it, which need not be text."""
Policies = Annotated[
    tuple[tuple[str, ...], ...] | None, Argument("NAME", nargs="+", action="append")
]


class RecordingOperation(Operation):
    """An operation on recordings; its docstring is its help, and its ``type`` the word behind ``palimpsest``."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    in_page: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False
    """Its answer has rows, for Markdown and for conditions."""

    def answer(self) -> CommandReport:
        """Do it; raises UserError."""
        raise NotImplementedError

    async def run(self, at: Desk) -> CommandReport:
        """Do it, where somebody asks a table of operations."""
        return await at.aside(self.answer)


class ReadRecordings(RecordingOperation):
    """An operation that reads recordings at the prices that are asked for."""

    session: Annotated[str, Argument("ID")] = ""
    """one session, by its id or number from 1"""
    price: Annotated[tuple[FileName, ...] | None, Argument("PRICE", action="append")] = None
    """the prices of a model, units, MODEL=in/out/read/write (USD per million tokens), or a price file"""
    lifetime: Annotated[str | None, Argument("TIME")] = None
    """how long the cache keeps a prefix: seconds, or 5m, 1h"""

    @contextmanager
    def opened(self, path: str) -> "Iterator[Recording[RecordingReview]]":
        """Open a recording."""
        from palimpsest.review.recordings.recording import open_recording

        with _progress() as control:
            recording = open_recording(
                path, control=control, price=self.price, lifetime=self.lifetime
            )
        with recording:
            yield recording


class ImportRecordings(RecordingOperation):
    """Import recordings into a project."""

    type: Literal["import"] = "import"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, or a folder of recordings"""
    project: Annotated[FileName | None, Argument("DIR")] = None
    """the project's folder; else this one's"""

    def answer(self) -> CommandReport:
        from palimpsest.review.importers.built_in import REGISTRY
        from palimpsest.store.log.store_factory import find_project, open_store

        start = Path(self.project).expanduser() if self.project else find_project(Path.cwd())
        if not start.is_dir():
            raise UserError(
                f"There is no folder {str(start)!r}; --project names the folder of a project."
            )
        store, in_memory = open_store(start)
        if in_memory is not None:
            raise UserError(in_memory)
        with _progress() as control:
            found = REGISTRY.import_from(store, Path(self.path).expanduser(), _now, control)
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


class InspectRecordings(ReadRecordings):
    """Say what sessions hold, cost and lost."""

    type: Literal["inspect"] = "inspect"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, a folder, or a project"""
    has_rows: ClassVar[bool] = True

    def answer(self) -> CommandReport:
        from palimpsest.frontends.command_line.session_report import session_report

        with self.opened(self.path) as recording:
            reports = [session_report(one) for one in _chosen(recording, self.session)]
            return CommandReport(
                "inspect",
                {"path": self.path, "sessions": [one.json() for one in reports]},
                [table for one in reports for table in one.tables],
                recording.problems,
            )


class CompareRecordings(ReadRecordings):
    """Compare policies over one recording, or two recordings."""

    type: Literal["compare"] = "compare"
    path: Annotated[tuple[FileName, ...], Argument("PATH", nargs="+")]
    """a recording with policies, or two recordings"""
    policy: Policies = None
    """names, with numbers as in "sweagent.last_n n=10"; recorded, raw, all (the default)"""
    window: Annotated[int, Argument("N", type=int)] = 0
    """tokens of the context window to assume"""
    summary: Annotated[str | None, Argument("TEXT")] = None
    """what stands where policies would have had a summary: stub(1500), extract(2000), recorded"""
    has_rows: ClassVar[bool] = True

    def answer(self) -> CommandReport:
        first, *others = self.path
        if len(others) > 1:
            raise UserError("compare takes one recording with policies, or two recordings.")
        if others and (self.policy or self.summary):
            raise UserError(
                "Policies are compared over one recording; give one, or neither --policy nor --summary."
            )
        return self._recorded(first, others[0]) if others else self._policies(first)

    def _policies(self, path: str) -> CommandReport:
        policies = _policies([one for many in self.policy or [[ALL]] for one in many])
        with self.opened(path) as recording:
            compared = [
                one.compare(policies, window=self.window, summary=self.summary)
                for one in _chosen(recording, self.session, with_requests=True)
            ]
            return CommandReport(
                "compare",
                {"path": path, "comparisons": [one.json() for one in compared]},
                [one.table for one in compared],
                recording.problems,
            )

    def _recorded(self, first: str, second: str) -> CommandReport:
        from palimpsest.review.comparison.recorded_comparison import compare_recorded

        with self.opened(first) as one, self.opened(second) as other:
            left = next(_chosen(one, self.session, with_requests=True))
            right = next(_chosen(other, "", with_requests=True))
            compared = compare_recorded(left, right)
            return CommandReport(
                "compare",
                {"paths": [first, second], "sessions": compared.json()["sessions"]},
                [compared.table],
                (*one.problems, *other.problems),
            )


class ReportRecording(ReadRecordings):
    """Write a session's inspector as one HTML file, without server and network."""

    type: Literal["report"] = "report"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, a folder, or a project"""
    file: Annotated[FileName, Argument("FILE.html", "-o", "--output", dest="file", required=True)]
    """a new file, or an older report"""
    policy: Policies = None
    """what to compare with, with numbers as in "sweagent.last_n n=10"; else three of the field"""
    texts: Annotated[
        Literal["none", "preview", "all"],
        Argument("{none,preview,all}", choices=("none", "preview", "all")),
    ] = "preview"
    """of the session's texts: none, the first 200 characters (the default), or all"""

    def answer(self) -> CommandReport:
        from palimpsest.frontends.inspector.report_file import write_report

        with self.opened(self.path) as recording:
            review = next(_chosen(recording, self.session, with_requests=True))
            written = write_report(
                review,
                self.file,
                environment=os.environ,
                policies=[one for many in self.policy or () for one in many],
                texts=self.texts,
            )
            size = written.stat().st_size
            session = review.timeline.session
            return CommandReport(
                "report",
                {"path": self.path, "session": session, "file": str(written), "bytes": size},
                problems=recording.problems,
                words=[
                    f"{written} holds session {session}, {size / 1e3:,.0f} kB; it loads nothing."
                ],
            )


OPERATIONS: tuple[type[RecordingOperation], ...] = (
    ImportRecordings,
    InspectRecordings,
    CompareRecordings,
    ReportRecording,
)


def _policies(words: Sequence[str]) -> "list[PolicyLike]":
    from palimpsest.review.policies.recorded_policy import RECORDED
    from palimpsest.review.recordings.preset_policies import policy_from_words, preset_names
    from palimpsest.review.replay.simulation import RAW

    every = (RECORDED, RAW, *preset_names())
    wanted = [name for one in words for name in (every if one == ALL else (one,))]
    return [policy_from_words(one) for one in dict.fromkeys(wanted)]


def _chosen(
    recording: "Recording[RecordingReview]", session: str, *, with_requests: bool = False
) -> "Iterator[SessionReview]":
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


def _session(recording: "Recording[RecordingReview]", session: str) -> "SessionReview":
    if not session.isdecimal():
        return recording[session]
    if not 0 < int(session) <= len(recording):
        raise UserError(
            f"The recording has no session number {session}; it has {len(recording)} sessions."
        )
    return recording[int(session) - 1]


@contextmanager
def _progress() -> "Iterator[ImportControl]":
    """Show how far a large source is read, on a terminal only."""
    from palimpsest.store.exchange.importer import ImportControl

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
