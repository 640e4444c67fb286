"""Operations of ``palimpsest`` on recordings, without a kernel: inspect, compare, report.

Border: the ``review`` package is imported when the first operation runs.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import ConfigDict

from palimpsest.frontends.operation_base.operation import (
    Argument,
    FileName,
    Operation,
    OperationContext,
    Unvalidated,
    terminal_form,
)
from palimpsest.frontends.operation_text.command_report import CommandReport
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.review.corpus.folder_overview import OverviewOrder
    from palimpsest.review.recorded_sessions.recording import Recording
    from palimpsest.review.recorded_sessions.recording_review import RecordingReview
    from palimpsest.review.session_review import PolicyLike, SessionReview

ALL_POLICIES = "all"
SHARED_FIELDS = ("session", "price", "lifetime", "captured")
PolicyArguments = Annotated[
    tuple[tuple[str, ...], ...] | None, Argument("NAME", nargs="+", action="append")
]


class RecordingOperation(Operation):
    """An operation that reads recordings and computes their cost at given prices."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    in_page: ClassVar[bool] = False
    session: Annotated[str, Argument("ID")] = ""
    """one session, by its id or number from 1"""
    price: Annotated[tuple[FileName, ...] | None, Argument("PRICE", action="append")] = None
    """prices: MODEL=in/out/read/write (USD per million tokens), a price file, a model that has them, or units"""
    lifetime: Annotated[str | None, Argument("TIME")] = None
    """how long the cache keeps a prefix: seconds, or 5m, 1h"""
    captured: Annotated[FileName | None, Argument("FILE")] = None
    """captured HTTP of the same session (HAR, claude-tap): requests show what was sent"""

    def answer(self, context: OperationContext) -> CommandReport:
        """Run the operation, blocking; raises UserError."""
        raise NotImplementedError

    async def run(self, context: OperationContext) -> CommandReport:
        return await context.run_blocking(self.answer, context)

    def open_recording(self, path: str, context: OperationContext) -> "Recording[RecordingReview]":
        """Open a recording, with the prices, the cache lifetime and the captured HTTP of the command."""
        from palimpsest.review.recorded_sessions import recording
        from palimpsest.store.exchange.import_report import ImportControl, ignore_progress

        control = ImportControl(context.progress or ignore_progress)
        return recording.open_recording(
            path, control=control, price=self.price, lifetime=self.lifetime, captured=self.captured
        )


class ShowFigures(RecordingOperation):
    """Show what sessions contain, cost and wasted."""

    type: Literal["figures"] = "figures"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, a folder, or a project"""
    by: Annotated[
        Literal["", "cost", "waste", "input", "requests", "breaks", "file"],
        Unvalidated(),
        Argument("COLUMN", choices=("cost", "waste", "input", "requests", "breaks", "file")),
    ] = ""
    """show a folder as one table of its sessions, largest first by cost, waste, input, requests, breaks or file"""
    forms = (terminal_form("inspect", "path", "by", *SHARED_FIELDS, has_rows=True),)

    def answer(self, context: OperationContext) -> CommandReport:
        from palimpsest.frontends.operation_text.session_report import SessionReport

        if self.by:
            return self._folder_overview(self.by)
        with self.open_recording(self.path, context) as recording:
            reports = [*map(SessionReport, selected_sessions(recording, self.session))]
            return CommandReport(
                "inspect",
                {"path": self.path, "sessions": [report.json() for report in reports]},
                [table for report in reports for table in report.tables],
                recording.problems,
            )

    def _folder_overview(self, by: "OverviewOrder") -> CommandReport:
        from palimpsest.review.corpus.corpus import corpus
        from palimpsest.store.interface import Problem

        if self.session:
            raise UserError("--by is about all sessions of a folder; leave out --session.")
        if self.captured:
            raise UserError(
                "--captured belongs to one recording; leave it out, or inspect that one without --by."
            )
        # Inspecting writes no file, not even the cache of results that a corpus writes elsewhere.
        sessions = corpus(self.path, cache=False, price=self.price, lifetime=self.lifetime)
        overview = sessions.overview(by)
        return CommandReport(
            "inspect",
            {"path": self.path, **overview.json()},
            [overview.table],
            [Problem(*problem.split(": ", 1)) for problem in overview.problems],
        )


class CompareRecordings(RecordingOperation):
    """Compare policies over one recording, or two recordings."""

    type: Literal["compare"] = "compare"
    path: Annotated[tuple[FileName, ...], Argument("PATH", nargs="+")]
    """a recording with policies, or two recordings"""
    policy: PolicyArguments = None
    """names, with numbers as in "sweagent.last_n n=10"; recorded, raw, all (the default)"""
    window: Annotated[int, Argument("N", type=int)] = 0
    """tokens of the context window to assume"""
    summary: Annotated[str | None, Argument("TEXT")] = None
    """what stands where policies would have had a summary: stub(1500), extract(2000), recorded"""
    columns: Annotated[str, Argument("NAME,NAME")] = ""
    """columns of the table (figures for two recordings), by keys of --json; else all, but in Markdown six for policies"""
    link: Annotated[str, Argument("URL")] = ""
    """the address of a report, which stands below the table"""
    forms = (
        terminal_form(
            "compare",
            *("path", "policy", "window", "summary", "columns", "link"),
            *SHARED_FIELDS,
            has_rows=True,
        ),
    )

    def answer(self, context: OperationContext) -> CommandReport:
        first_path, *other_paths = self.path
        if len(other_paths) > 1:
            raise UserError("compare takes one recording with policies, or two recordings.")
        if other_paths and (self.policy or self.summary):
            raise UserError(
                "Policies are compared over one recording; give one, or neither --policy nor --summary."
            )
        if other_paths and self.captured:
            raise UserError("--captured belongs to one recording; give one to compare.")
        link = _checked_link(self.link)
        if other_paths:
            return replace(self._compare_recordings(first_path, other_paths[0], context), link=link)
        return replace(self._compare_policies(first_path, context), link=link)

    @property
    def _column_keys(self) -> list[str]:
        """The keys that ``--columns`` names; empty where it is not given."""
        return [key for word in self.columns.split(",") if (key := word.strip())]

    def _compare_policies(self, path: str, context: OperationContext) -> CommandReport:
        from palimpsest.review.comparison.policy_comparison import (
            PULL_REQUEST_COLUMNS,
            check_policy_columns,
        )

        column_keys = self._column_keys
        check_policy_columns(column_keys)
        policies = _named_policies([*chain.from_iterable(self.policy or [[ALL_POLICIES]])])
        with self.open_recording(path, context) as recording:
            comparisons = [
                session.compare(policies, window=self.window, summary=self.summary)
                for session in selected_sessions(recording, self.session, with_requests=True)
            ]
            tables = [comparison.table for comparison in comparisons]
            return CommandReport(
                "compare",
                {"path": path, "comparisons": [comparison.json() for comparison in comparisons]},
                [table.with_columns(column_keys) for table in tables] if column_keys else tables,
                recording.problems,
                markdown_tables=[
                    table.with_columns(column_keys or PULL_REQUEST_COLUMNS) for table in tables
                ],
            )

    def _compare_recordings(
        self, first_path: str, second_path: str, context: OperationContext
    ) -> CommandReport:
        from palimpsest.render.reports.table import check_columns
        from palimpsest.review.recorded_comparison import FIGURE_KEYS, compare_recorded

        column_keys = self._column_keys or FIGURE_KEYS
        check_columns(column_keys, FIGURE_KEYS)
        with (
            self.open_recording(first_path, context) as recording,
            self.open_recording(second_path, context) as other_recording,
        ):
            first_review = next(selected_sessions(recording, self.session, with_requests=True))
            second_review = next(selected_sessions(other_recording, "", with_requests=True))
            comparison = compare_recorded(first_review, second_review)
            values = comparison.json()
            compared_values = {key: values[key] for key in ("parting", "sessions")}
            return CommandReport(
                "compare",
                {"paths": [first_path, second_path], **compared_values},
                [comparison.table_of_figures(column_keys)],
                [*dict.fromkeys((*recording.problems, *other_recording.problems))],
            )


class WriteReport(RecordingOperation):
    """Write a session's inspector as one HTML file, without server and network."""

    type: Literal["report"] = "report"
    path: Annotated[FileName | None, Argument("PATH", "path")] = None
    """a recording, a folder, or a project"""
    beside: Annotated[FileName | None, Argument("PATH", "beside", nargs="?")] = None
    """a second recording, such as one of the same task: the page then holds both, and where they part"""
    file: Annotated[FileName, Argument("FILE.html", "-o", "--output", dest="file", required=True)]
    """a new file, or an older report"""
    policy: PolicyArguments = None
    """policies to compare with, with numbers as in "sweagent.last_n n=10"; else three well-known ones"""
    texts: Annotated[
        Literal["none", "preview", "all"],
        Unvalidated(),
        Argument("{none,preview,all}", choices=("none", "preview", "all")),
    ] = "preview"
    """of the session's texts: none, the first 200 characters (the default), or all"""
    forms = (terminal_form("report", "path", "beside", "file", "policy", "texts", *SHARED_FIELDS),)

    def answer(self, context: OperationContext) -> CommandReport:
        if self.beside is not None and self.captured:
            raise UserError("--captured belongs to one recording; give one to report.")
        with ExitStack() as exit_stack:
            beside = self._review_beside(exit_stack, context)
            if self.path is None:  # a session of the kernel's project
                review = context.services.inspections.answers(self.session).review()
                return self._write(review, context.services.services.environment, beside)
            recording = exit_stack.enter_context(self.open_recording(self.path, context))
            review = next(selected_sessions(recording, self.session, with_requests=True))
            report = self._write(review, os.environ, beside)
            problems = () if beside is None else beside.problems
            return replace(report, problems=[*dict.fromkeys((*recording.problems, *problems))])

    def _review_beside(
        self, exit_stack: ExitStack, context: OperationContext
    ) -> "SessionReview | None":
        """Return the session that the page shows beside the first; None where none is given.

        It comes from a recording, or in the kernel also from its project by id.
        """
        if self.beside is None:
            return None
        if self.path is None and re.fullmatch(r"ses_\w+", self.beside):
            return context.services.inspections.answers(self.beside).review()
        recording = exit_stack.enter_context(self.open_recording(self.beside, context))
        return next(selected_sessions(recording, "", with_requests=True))

    def _write(
        self,
        review: "SessionReview",
        environment: Mapping[str, str],
        beside: "SessionReview | None",
    ) -> CommandReport:
        from palimpsest.frontends.operation_text.report_file import write_report
        from palimpsest.review.prices.price_file import price_words

        file = write_report(
            review,
            self.file,
            environment=environment,
            policies=[*chain.from_iterable(self.policy or ())],
            texts=self.texts,
            price=None if self.path else price_words(self.price, self.lifetime),
            beside=beside,
        )
        session_id, size = review.timeline.session, file.stat().st_size
        values = {"path": self.path, "session": session_id, "file": str(file), "bytes": size}
        sessions_text = f"session {session_id}"
        if beside is not None:
            values["beside"] = beside.timeline.session
            sessions_text = f"sessions {session_id} and {beside.timeline.session}"
        return CommandReport(
            "report",
            values,
            text_lines=[f"{file} holds {sessions_text}, {size / 1e3:,.0f} kB; it loads nothing."],
        )


def _checked_link(address: str) -> str:
    """Return an address of the web as it is written in Markdown; raises UserError for any other."""
    if not address:
        return ""
    if not re.fullmatch(r"https?://[^\s<>\\]+", address) or not address.isprintable():
        raise UserError(
            f"--link is an address that begins with https:// or http://, not {address!r}."
        )
    return address


def _named_policies(names: Sequence[str]) -> "list[PolicyLike]":
    """Return the policies that ``--policy`` names, each once; ``all`` names every preset."""
    from palimpsest.context_policies.interface.recorded_policy import RECORDED
    from palimpsest.context_policies.replay.simulation import RAW_NAME
    from palimpsest.review.timeline_view.chosen_policies import policy_from_words, preset_names

    all_names = (RECORDED, RAW_NAME, *preset_names())
    chosen_names = [all_names if name == ALL_POLICIES else (name,) for name in names]
    return [policy_from_words(name) for name in dict.fromkeys(chain.from_iterable(chosen_names))]


def selected_sessions(
    recording: "Recording[RecordingReview]", id_or_number: str, *, with_requests: bool = False
) -> "Iterator[SessionReview]":
    """Yield one session, by id or number from 1, or all where ``id_or_number`` is empty; those of subagents last.

    Of all sessions, ``with_requests`` omits those without requests and those of subagents.
    """
    if id_or_number:
        yield _find_session(recording, id_or_number)
        return
    review_count = 0
    for review in recording:
        is_main_with_requests = review.timeline.requests and review.timeline.parent is None
        if is_main_with_requests or not with_requests:
            review_count += 1
            yield review
    if not review_count:
        raise UserError("The recording has no session with a request, so there is nothing to say.")


def _find_session(recording: "Recording[RecordingReview]", id_or_number: str) -> "SessionReview":
    if not id_or_number.isdecimal():
        return recording[id_or_number]
    if not 0 < int(id_or_number) <= len(recording):
        raise UserError(
            f"The recording has no session number {id_or_number}; "
            f"it has {counted_noun(len(recording), 'session')}."
        )
    return recording[int(id_or_number) - 1]
