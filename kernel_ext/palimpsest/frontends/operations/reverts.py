"""Operations that take back what the agent did: revert a prompt, review changes of cells, tell where a cell's code came from."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from palimpsest.frontends.operation_base.operation import (
    Form,
    Operation,
    OperationContext,
    RestParser,
    single_form,
)
from palimpsest.frontends.operation_text.cell_review_text import cell_history_text, cell_review_text
from palimpsest.frontends.operation_text.command_output import CommandOutput, OutputLines
from palimpsest.frontends.operation_text.revert_text import cleaned_text, diff_text, revert_text
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.cell_history import HISTORY_EVENTS, cell_history, named_cell
from palimpsest.session.revert.operations import Reverts
from palimpsest.tools.notebook.notebook_tool import MAX_PAGE_SECONDS
from palimpsest.tools.tool import NotebookReader
from palimpsest.transcript.context_values.cell_changes import (
    CellHistory,
    CellReview,
    ReviewedChange,
)
from palimpsest.transcript.context_values.page_cells import CellsWanted
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.session_record.reverts import FileDiff, RevertPreview
from palimpsest.transcript.values import CellDecision, Value

ALL_FILES = "all"
FLAGS = {"revert": ("--preview", "--overwrite"), "unrevert": ("--overwrite",)}


class RevertAnswer(Value):
    """The outcome of an operation on reverts."""

    revert: RevertPreview | None = None
    """The effects of a revert or unrevert, or those that a preview expects."""
    diffs: tuple[FileDiff, ...] | None = None
    """The changes in files."""
    removed: int | None = Field(default=None, exclude=True)
    """The number of messages that a cleanup removed."""


def _revert_parser(name: str, max_ids: int = 0) -> RestParser:
    """Return a parser for ``[ID] [--preview] [--overwrite[=FILES]]``, limited to the flags and ids of the form."""

    def parse_flags(argument_text: str) -> dict[str, Any] | None:
        words = argument_text.split()
        flags = [word.partition("=") for word in words if word.startswith("--")]
        ids = [word for word in words if not word.startswith("--")]
        if any(flag not in FLAGS.get(name, ()) for flag, _, _ in flags):
            return None
        if len(ids) > max_ids or not all(re.fullmatch(r"\w+", word) for word in ids):
            return None
        values: dict[str, Any] = {"target": "".join(ids)}
        for flag, _, value in flags:
            if flag == "--preview":
                values["action"] = "preview"
            else:
                files = tuple(word.strip() for word in value.split(",") if word.strip())
                values |= {"overwrite": files, "in_conflict": name == "revert"}
        return values

    return parse_flags


class Revert(Operation):
    """Revert a message and all that follow, undo that, make it final, or only preview it."""

    type: Literal["revert"] = "revert"
    session: str | None = None
    action: Literal["preview", "revert", "unrevert", "cleanup", "diff"]
    target: str = Field(default="", max_length=200)
    """The id of a message or part; empty means the newest prompt, and for ``diff`` the whole session."""
    overwrite: tuple[str, ...] = ()
    """Files to overwrite although they were changed outside the session."""
    in_conflict: bool = False
    """``overwrite`` may name only files with a conflict; empty, or ``all``, means all of them."""
    forms = (
        Form(
            "revert",
            "revert the newest prompt, or from ID on, with its files: %agent revert [ID] [--preview]",
            fixed_values={"action": "revert"},
            parse_rest=_revert_parser("revert", 1),
        ),
        Form(
            "unrevert",
            "undo the revert",
            fixed_values={"action": "unrevert"},
            parse_rest=_revert_parser("unrevert"),
        ),
        Form("cleanup", "remove what is reverted, for good", fixed_values={"action": "cleanup"}),
        Form(
            "diff",
            "what the session changed in files: %agent diff, or diff last for the newest turn",
            fixed_values={"action": "diff"},
            parse_rest=_revert_parser("diff", 1),
            keywords=("last",),
        ),
    )

    async def run(self, context: OperationContext) -> RevertAnswer:
        reverts = (await context.find(self.session)).reverts
        match self.action:
            case "preview":
                return RevertAnswer(revert=await reverts.preview(self.target))
            case "revert":
                files = await self._files_to_overwrite(reverts)
                return RevertAnswer(revert=await reverts.revert(self.target, files))
            case "unrevert":
                return RevertAnswer(revert=await reverts.unrevert(self.overwrite))
            case "cleanup":
                return RevertAnswer(removed=await reverts.cleanup())
            case "diff":
                return RevertAnswer(diffs=await reverts.diff(self.target))

    async def _files_to_overwrite(self, reverts: Reverts) -> tuple[str, ...]:
        """Return the files to overwrite; raises UserError for one without a conflict."""
        if not self.in_conflict:
            return self.overwrite
        conflicts = (await reverts.preview(self.target)).conflicts
        if not self.overwrite or self.overwrite == (ALL_FILES,):
            return conflicts
        for file in self.overwrite:
            if file not in conflicts:
                names = ", ".join(conflicts) or "none"
                raise UserError(f"{file!r} is in no conflict. Files with a conflict: {names}.")
        return self.overwrite

    def output(self, answer: RevertAnswer) -> CommandOutput:
        if answer.revert is not None:
            return revert_text(answer.revert, is_undone=self.action == "unrevert")
        if answer.diffs is not None:
            return diff_text(answer.diffs, self.target)
        return cleaned_text(answer.removed or 0)


_REVIEW_PATTERN = re.compile(
    r"(?P<answer>accept|reject)(?:\s+(?:all|(?P<number>\d{1,6})))?(?:\s+(?P<quote>[\"'])(?P<reason>.*)(?P=quote))?"
)


def _parse_review(argument_text: str) -> dict[str, Any] | None:
    """Parse ``[accept|reject [NUMBER|all] ["WHY"]]``; None where the line is a prompt."""
    if not argument_text:
        return {}
    match = _REVIEW_PATTERN.fullmatch(argument_text)
    if match is None:
        return None
    number = match["number"]
    return {
        "all": match["answer"],
        "number": int(number) if number is not None else None,
        "reason": match["reason"] or "",
    }


class ReviewCells(Operation):
    """Accept changes of cells that were made without asking, or take them back; without decisions list those to look at."""

    type: Literal["review-cells"] = "review-cells"
    session: str | None = None
    call: str | None = Field(default=None, max_length=20_000)
    """The tool call that made the changes; None where ``all`` is about all calls of the session."""
    decisions: tuple[CellDecision, ...] = ()
    """Decisions on single changes of the call."""
    all: Literal["accept", "reject"] | None = None
    """What is done with all open changes, of the call or of the session."""
    number: int | None = Field(default=None, ge=1)
    """Only the open change with this number in the list, from 1."""
    reason: str = ""
    """Why all are rejected, for the model."""
    forms = single_form(
        "review",
        'changes of cells to look at: %agent review, review accept [NUMBER], review reject [NUMBER] ["WHY"]',
        parse_rest=_parse_review,
        keywords=("accept", "reject"),
    )

    async def run(self, context: OperationContext) -> CellReview:
        session = await context.find(self.session)
        if self.all is None and not self.decisions:
            return session.open_cell_changes()
        if self.all is None:
            if self.call is None:
                raise UserError("Name the call whose changes are meant: call is missing.")
            return await session.review_cells({self.call: self.decisions})
        decisions: dict[str, list[CellDecision]] = {}
        for reviewed_change in self._chosen_changes(session.open_cell_changes()):
            accept = self.all == "accept"
            decision = CellDecision(index=reviewed_change.index, accept=accept, reason=self.reason)
            decisions.setdefault(reviewed_change.call, []).append(decision)
        return await session.review_cells(decisions)

    def _chosen_changes(self, review: CellReview) -> Sequence[ReviewedChange]:
        """Return the open changes that are meant; raises NotFound for a number that no change has."""
        if self.number is not None:
            if self.number > len(review.changes):
                raise NotFound(
                    f"There is no change {self.number}: {len(review.changes)} wait to be looked at. %agent review lists them."
                )
            return review.changes[self.number - 1 : self.number]
        return [change for change in review.changes if self.call in (None, change.call)]

    def output(self, answer: CellReview) -> OutputLines:
        return cell_review_text(answer, is_list=self.all is None and not self.decisions)


def _parse_why(argument_text: str) -> dict[str, Any] | None:
    """Parse ``[NUMBER|cell NUMBER|cell ID]``; None where the line is a prompt."""
    match = re.fullmatch(r"(?:(?:cell\s+)?\[?(\d{1,9})\]?|cell\s+([\w.:-]{1,64}))?", argument_text)
    return {"cell": match[1] or match[2]} if match is not None else None


async def _writing_session_id(reader: NotebookReader, cell: str) -> str | None:
    """Return the id of the session that wrote a cell's source, as the cell's metadata in an open page have it."""
    notebooks = await reader.page(CellsWanted(cell), MAX_PAGE_SECONDS) or ()
    writer_ids = (page_cell.session for notebook in notebooks for page_cell in notebook.cells)
    return next((writer_id for writer_id in writer_ids if writer_id is not None), None)


async def _cell_history_in(
    session: KernelSession, empty_history: CellHistory, context: OperationContext
) -> CellHistory:
    snapshot = session.snapshot()
    if snapshot.session is None:
        return empty_history
    records = await context.run_blocking(session.records_after, 0, HISTORY_EVENTS)
    return cell_history(
        empty_history.cell, empty_history.number, snapshot.session, snapshot.messages, records
    )


class ExplainCell(Operation):
    """Tell where a cell's code came from: the turns that wrote or changed it, of this session or another of the project."""

    type: Literal["why"] = "why"
    session: str | None = None
    cell: str | None = Field(default=None, max_length=200)
    """The cell's number or id; None means the cell that asks."""
    forms = single_form(
        "why",
        "where a cell's code came from: %agent why in the cell, or %agent why NUMBER",
        parse_rest=_parse_why,
    )

    async def run(self, context: OperationContext) -> CellHistory:
        cell_name = self.cell or context.cell
        if cell_name is None:
            raise UserError("Name the cell whose code is meant, by its number: %agent why 4.")
        reader, workspace = context.services.notebook_runs, context.services.workspace
        runs = reader.recorded_runs().runs if reader is not None else ()
        cell, number = named_cell(cell_name, runs)
        writer_id = await _writing_session_id(reader, cell) if reader is not None else None
        session = (
            await workspace.current_session(context.notebook)  # None where it has none yet
            if self.session is None
            else await context.find(self.session)
        )
        history = CellHistory(cell=cell, number=number)
        if session is not None:
            history = await _cell_history_in(session, history, context)
        session_id = session.id if session is not None else ""
        if self.session is not None or (history.changes and writer_id in (None, session_id)):
            return history
        other_history = await workspace.cell_history(
            cell, number, context.notebook, writer_id, session_id
        )
        is_by_writer = any(change.session == writer_id for change in other_history.changes)
        return (
            other_history
            if is_by_writer or (other_history.changes and not history.changes)
            else history
        )

    def output(self, answer: CellHistory) -> OutputLines:
        return cell_history_text(answer)
