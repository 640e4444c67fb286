"""What ``palimpsest`` says of recordings without a kernel: their figures, policies or sessions compared, and a report.

Review is imported with the first answer.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import ConfigDict

from palimpsest.frontends.operation_text.command_report import CommandReport
from palimpsest.frontends.operations.operation import (
    Argument,
    AsItIs,
    Desk,
    FileName,
    Form,
    Operation,
)
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.review.comparison.session_review import PolicyLike, SessionReview
    from palimpsest.review.recordings.recording import Recording
    from palimpsest.review.recordings.recording_review import RecordingReview

ALL = "all"
PRICES = ("session", "price", "lifetime")
Policies = Annotated[
    tuple[tuple[str, ...], ...] | None, Argument("NAME", nargs="+", action="append")
]


def _command(name: str, *fields: str, has_rows: bool = False) -> Form:
    return Form(
        name, takes=fields, in_panel=False, in_cell=False, in_terminal=True, has_rows=has_rows
    )


class RecordingOperation(Operation):
    """An operation that reads recordings at the prices that are asked for."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    in_page: ClassVar[bool] = False
    session: Annotated[str, Argument("ID")] = ""
    """one session, by its id or number from 1"""
    price: Annotated[tuple[FileName, ...] | None, Argument("PRICE", action="append")] = None
    """the prices of a model, units, MODEL=in/out/read/write (USD per million tokens), or a price file"""
    lifetime: Annotated[str | None, Argument("TIME")] = None
    """how long the cache keeps a prefix: seconds, or 5m, 1h"""

    def answer(self, at: Desk) -> CommandReport:
        """Do it; raises UserError."""
        raise NotImplementedError

    async def run(self, at: Desk) -> CommandReport:
        return await at.aside(self.answer, at)

    def report(self, answer: CommandReport) -> CommandReport:
        return answer

    def opened(self, path: str, at: Desk) -> "Recording[RecordingReview]":
        """Open a recording."""
        from palimpsest.review.recordings.recording import open_recording
        from palimpsest.store.exchange.importer import ImportControl, untold

        control = ImportControl(at.progress or untold)
        return open_recording(path, control=control, price=self.price, lifetime=self.lifetime)


class ShowFigures(RecordingOperation):
    """Say what sessions hold, cost and lost."""

    type: Literal["figures"] = "figures"
    path: Annotated[FileName, Argument("PATH")]
    """a recording, a folder, or a project"""
    forms = (_command("inspect", "path", *PRICES, has_rows=True),)

    def answer(self, at: Desk) -> CommandReport:
        from palimpsest.frontends.operation_text.session_report import SessionReport

        with self.opened(self.path, at) as recording:
            reports = [SessionReport(one) for one in _chosen(recording, self.session)]
            return CommandReport(
                "inspect",
                {"path": self.path, "sessions": [one.json() for one in reports]},
                [table for one in reports for table in one.tables],
                recording.problems,
            )


class CompareRecordings(RecordingOperation):
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
    forms = (_command("compare", "path", "policy", "window", "summary", *PRICES, has_rows=True),)

    def answer(self, at: Desk) -> CommandReport:
        first, *others = self.path
        if len(others) > 1:
            raise UserError("compare takes one recording with policies, or two recordings.")
        if others and (self.policy or self.summary):
            raise UserError(
                "Policies are compared over one recording; give one, or neither --policy nor --summary."
            )
        return self._recorded(first, others[0], at) if others else self._policies(first, at)

    def _policies(self, path: str, at: Desk) -> CommandReport:
        policies = _policies([one for many in self.policy or [[ALL]] for one in many])
        with self.opened(path, at) as recording:
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

    def _recorded(self, first: str, second: str, at: Desk) -> CommandReport:
        from palimpsest.review.comparison.recorded_comparison import compare_recorded

        with self.opened(first, at) as one, self.opened(second, at) as other:
            left = next(_chosen(one, self.session, with_requests=True))
            right = next(_chosen(other, "", with_requests=True))
            compared = compare_recorded(left, right)
            return CommandReport(
                "compare",
                {"paths": [first, second], "sessions": compared.json()["sessions"]},
                [compared.table],
                (*one.problems, *other.problems),
            )


class WriteReport(RecordingOperation):
    """Write a session's inspector as one HTML file, without server and network."""

    type: Literal["report"] = "report"
    path: Annotated[FileName | None, Argument("PATH", "path")] = None
    """a recording, a folder, or a project"""
    file: Annotated[FileName, Argument("FILE.html", "-o", "--output", dest="file", required=True)]
    """a new file, or an older report"""
    policy: Policies = None
    """what to compare with, with numbers as in "sweagent.last_n n=10"; else three of the field"""
    texts: Annotated[
        Literal["none", "preview", "all"],
        AsItIs(),
        Argument("{none,preview,all}", choices=("none", "preview", "all")),
    ] = "preview"
    """of the session's texts: none, the first 200 characters (the default), or all"""
    forms = (_command("report", "path", "file", "policy", "texts", *PRICES),)

    def answer(self, at: Desk) -> CommandReport:
        if self.path is None:  # a session of the kernel's project
            review = at.services.inspections.answers(self.session).review()
            return self._written(review, at.services.services.environment)
        with self.opened(self.path, at) as recording:
            review = next(_chosen(recording, self.session, with_requests=True))
            written = self._written(review, os.environ)
            return replace(written, problems=recording.problems)

    def _written(self, review: "SessionReview", environment: Mapping[str, str]) -> CommandReport:
        from palimpsest.frontends.operation_text.report_file import write_report
        from palimpsest.review.comparison.price_file import price_words

        written = write_report(
            review,
            self.file,
            environment=environment,
            policies=[one for many in self.policy or () for one in many],
            texts=self.texts,
            price=None if self.path else price_words(self.price, self.lifetime),
        )
        session, size = review.timeline.session, written.stat().st_size
        return CommandReport(
            "report",
            {"path": self.path, "session": session, "file": str(written), "bytes": size},
            words=[f"{written} holds session {session}, {size / 1e3:,.0f} kB; it loads nothing."],
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
