"""The cells tool: insert, edit, move, delete and run cells of the user's notebook, through the page that shows it.

Border: asks for permission with the difference; the page makes all changes or none, and only if the cells still have the
sources that the model saw. Where the changes go is the session's own notebook; another one is never changed. The call's
metadata keep the changes with what a person said of each, which pages draw and ``review-cells`` reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from palimpsest.tools.files.write_tools import limited_diff
from palimpsest.tools.notebook.cell_decisions import DecidedChanges, decided_changes
from palimpsest.tools.notebook.change_text import (
    change_line,
    changes_difference,
    outcome_title,
    question_title,
)
from palimpsest.tools.notebook.notebook_tool import output_images, output_section
from palimpsest.tools.notebook.own_notebook import OwnNotebook, own_notebook
from palimpsest.tools.notebook.planned_changes import (
    MAX_CHANGES,
    ChangePlanner,
    PlannedChanges,
    PlannedRun,
    RequestedChange,
    UnseenCells,
    check_source_lengths,
)
from palimpsest.tools.notebook.seen_sources import seen_sources
from palimpsest.tools.permission_rules.ipython_shell import shell_commands
from palimpsest.tools.tool import CellNotRun, NotebookReader, ToolContext, ToolOutcome
from palimpsest.transcript.call_outcomes import FAILURE_LINE
from palimpsest.transcript.context_values.cell_changes import (
    CELLS_KEY,
    CellChange,
    CellOrigin,
    CellResult,
    MadeChange,
)
from palimpsest.transcript.context_values.cell_runs import SEEN_KEY, CellRun, source_hash
from palimpsest.transcript.errors import Aborted, PermissionDenied, UserError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.values import Reply

WILDCARDS = frozenset("*?[")


class CellsArguments(BaseModel):
    """Input of the cells tool."""

    changes: list[RequestedChange] = Field(
        min_length=1,
        max_length=MAX_CHANGES,
        description="Made in this order, all or none; runs come last.",
    )


class CellsTool:
    """The cells tool, which changes and runs cells of the user's notebook."""

    name = "cells"
    description = (
        "Change the user's notebook: insert, edit, move, delete and run cells, several in one call. For code that is to "
        "stay in the notebook; use python for your own. Read a cell before you change it: one that the user changed since "
        "is refused. The user sees the difference and may reject parts. Prompts (%%agent) are changed only where the user "
        "names their cell."
    )
    arguments: type[BaseModel] = CellsArguments
    concurrent = False
    permission = "cells"

    async def run(self, arguments: CellsArguments, context: ToolContext) -> ToolOutcome:
        """Plan the changes, ask for permission, make them, and run the cells that are to be run."""
        reader = context.notebook
        if reader is None or reader.changer is None:
            raise UserError("There is no notebook here. Give the user the cells in your answer.")
        check_source_lengths(arguments.changes)
        # Refusals show sources, so whoever may not read cells may not change them either.
        await context.ask("notebook", ["*"], title="Read the cells of the notebook")
        notebook_file = context.extra_values.get("notebook_file")
        notebook = await own_notebook(
            reader,
            reader.changer,
            notebook_file if isinstance(notebook_file, Path) else None,
            context.session_id,
            context.root,
            context.extra_values.get("cells_without_page", "refuse"),
        )
        plan = _plan(arguments.changes, notebook, context, reader)
        title = question_title(notebook.path, plan.changes, plan.runs)
        diff = changes_difference(notebook.path, plan.changes, plan.runs, plan.labels)
        diff = context.scrubber()(diff)
        context.metadata(title, {CELLS_KEY: _as_metadata(plan.changes)})
        decisions = decided_changes(
            plan.changes, await _ask_permission(context, notebook.path, plan, title, diff)
        )
        made_changes = await _make_changes(context, notebook, decisions)
        metadata: dict[str, Any] = {CELLS_KEY: _as_metadata(decisions.with_rejected(made_changes))}
        remaining_runs = _runs_after(plan.runs, made_changes, decisions.rejected)
        context.metadata(outcome_title(notebook.path, made_changes, len(remaining_runs)), metadata)
        changed_text = _changed_text(notebook.path, made_changes, decisions, plan)
        runs = await _run_cells(context, notebook, remaining_runs)
        output = "\n\n".join(filter(None, (changed_text, *runs.sections)))
        if made_changes:
            diff = changes_difference(notebook.path, made_changes, remaining_runs, plan.labels)
            metadata["diff"] = limited_diff(context.scrubber()(diff))
        if runs.has_failed:
            metadata["failed"] = True
        if runs.not_run:
            metadata[FAILURE_LINE] = context.scrubber()(runs.not_run)
        if runs.shown_hashes:
            metadata[SEEN_KEY] = runs.shown_hashes
        title = outcome_title(notebook.path, made_changes, runs.count)
        return ToolOutcome(title, context.scrubber()(output), metadata, tuple(runs.images))


def _plan(
    requested: Sequence[RequestedChange],
    notebook: OwnNotebook,
    context: ToolContext,
    reader: NotebookReader,
) -> PlannedChanges:
    """Return what is to be done; raises UserError, and records which sources a refusal shows the model."""
    get_mentioned = context.extra_values.get("mentioned_cells")
    planner = ChangePlanner(
        notebook_path=notebook.path,
        cells=[replace(cell) for cell in notebook.cells],
        find_id=notebook.cell_id,
        seen_sources=seen_sources(context.messages, reader.recorded_runs(), reader.kernel),
        mentioned_names=get_mentioned() if callable(get_mentioned) else frozenset(),
        prompt_cell_id=_prompt_cell_id(context),
    )
    try:
        return planner.plan(requested)
    except UnseenCells as unseen:
        context.metadata(None, {SEEN_KEY: unseen.source_hashes, FAILURE_LINE: unseen.summary})
        raise UserError(context.scrubber()(str(unseen))) from None


def _prompt_cell_id(context: ToolContext) -> str | None:
    infos = (message.info for message in reversed(context.messages))
    prompts = (info for info in infos if isinstance(info, UserMessage) and not info.by_engine)
    prompt = next(prompts, None)
    return prompt.origin.cell_id if prompt is not None and prompt.origin is not None else None


async def _ask_permission(
    context: ToolContext, notebook_path: str, plan: PlannedChanges, title: str, diff: str
) -> Reply | None:
    """Return the user's answer, None where nothing had to be asked; marks the changes of a refused call as rejected."""
    actions = [change.action for change in plan.changes] + ["run"] * bool(plan.runs)
    patterns = [f"{action} {notebook_path}" for action in dict.fromkeys(actions)]
    other_patterns: dict[str, list[str]] = {}
    if plan.runs:
        other_patterns["python"] = [run.source for run in plan.runs]
        commands = [command for run in plan.runs for command in shell_commands(run.source)]
        if commands:
            other_patterns["bash"] = commands
    try:
        return await context.ask(
            "cells",
            patterns,
            title=title,
            always=() if WILDCARDS & set(notebook_path) else patterns,
            diff=diff,
            other_patterns=other_patterns or None,
        )
    except (PermissionDenied, Aborted) as refusal:
        denied_by = getattr(refusal, "denied_by", None) or "cancel"
        reason = getattr(refusal, "reason", "") or ""
        changed_fields = {"state": "rejected", "by": denied_by, "reason": reason}
        rejected = [change.model_copy(update=changed_fields) for change in plan.changes]
        context.metadata(None, {CELLS_KEY: _as_metadata(rejected)})
        raise


async def _make_changes(
    context: ToolContext, notebook: OwnNotebook, decisions: DecidedChanges
) -> tuple[MadeChange, ...]:
    """Have the accepted changes made, and return them with what the page says; raises UserError where it made none."""
    changes = decisions.accepted
    if not changes:
        return ()
    plain_changes = [CellChange.model_validate(_fields_of(change)) for change in changes]
    try:
        results = await notebook.change(plain_changes, _change_origin(context))
        problems = [result for result in results if result.problem is not None]
        if problems:
            raise _problem_error(context, problems, changes)
    except UserError:
        context.metadata(None, {CELLS_KEY: _as_metadata(decisions.rejected)})
        raise
    return tuple(
        change.model_copy(update={"was_after": result.was_after, "removed": result.removed})
        for change, result in zip(changes, results, strict=True)
    )


def _fields_of(change: MadeChange) -> dict[str, Any]:
    return {name: getattr(change, name) for name in CellChange.model_fields}


def _change_origin(context: ToolContext) -> CellOrigin:
    get_number = context.extra_values.get("request_number")
    return CellOrigin(
        session=context.session_id,
        message=context.message_id,
        call=context.call_id,
        request=get_number(context.message_id) if callable(get_number) else None,
    )


def _problem_error(
    context: ToolContext, problems: Sequence[CellResult], changes: Sequence[MadeChange]
) -> UserError:
    """Return the sentence on why a page made no change, with what changed cells hold now."""
    numbers = {change.cell: change.number for change in changes}
    sentences = []
    for result in problems:
        number = numbers.get(result.cell)
        label = f"cell [{number}]" if number is not None else f"cell {result.cell}"
        sentence = {
            "changed": f"was changed while the question was open. It holds now:\n{result.source or ''}",
            "locked": "is locked by its metadata. Ask the user to unlock it.",
            "agent": "is a prompt of the user now. Leave it as it is.",
        }.get(result.problem or "", "is not in the notebook any more.")
        sentences.append(f"{label} {sentence}")
    source_hashes = {
        result.cell: source_hash(result.source)
        for result in problems
        if result.problem == "changed" and result.source is not None
    }
    heading = "Nothing was changed and nothing run"
    # What a cell holds now stands in the second line of its sentence.
    summary = f"{heading}: {sentences[0].splitlines()[0].removesuffix(' It holds now:')}"
    others_text = f" So with {len(sentences) - 1} more." if len(sentences) > 1 else ""
    context.metadata(None, {SEEN_KEY: source_hashes, FAILURE_LINE: f"{summary}{others_text}"})
    return UserError(context.scrubber()("\n".join([f"{heading}.", *sentences])))


def _changed_text(
    notebook_path: str,
    changes: Sequence[MadeChange],
    decisions: DecidedChanges,
    plan: PlannedChanges,
) -> str:
    lines = []
    if changes:
        lines += [
            f"Changed {notebook_path}:",
            *(change_line(change, plan.labels) for change in changes),
        ]
        lines += plan.notes
    for change in changes:
        if change.cell in decisions.rewritten_ids:
            lines.append(
                f"The user accepted only a part of {plan.labels[change.cell]}, which holds now:\n{change.new}"
            )
    if decisions.rejected:
        lines.append("Not made, since the user rejected it:")
    for change in decisions.rejected:
        reason = f" Reason: {change.reason}" if change.reason else ""
        lines.append(f"{change_line(change, plan.labels).replace('- ', '- not ', 1)}.{reason}")
    return "\n".join(lines)


def _runs_after(
    runs: Sequence[PlannedRun], changes: Sequence[MadeChange], rejected: Sequence[MadeChange]
) -> list[PlannedRun]:
    """Return the runs with the sources that the cells have now, without cells whose change was rejected."""
    new_sources = {
        change.cell: change.new for change in changes if change.action in ("insert", "edit")
    }
    rejected_ids = {change.cell for change in rejected}
    return [
        replace(run, source=new_sources.get(run.cell_id) or run.source)
        for run in runs
        if run.cell_id not in rejected_ids
    ]


@dataclass(slots=True)
class _RunsOutcome:
    """What came out of the cells that were run."""

    count: int = 0
    """Number of cells that ran."""
    sections: list[str] = field(default_factory=list)
    images: list[Attachment] = field(default_factory=list)
    has_failed: bool = False
    shown_hashes: dict[str, str] = field(default_factory=dict)
    """Hashes of the sources that the sections show, by cell id."""
    not_run: str = ""
    """Why a cell was not run, in one sentence; empty where each was."""


async def _run_cells(
    context: ToolContext, notebook: OwnNotebook, runs: Sequence[PlannedRun]
) -> _RunsOutcome:
    """Run cells one after the other, until one fails, as a person's Run All does."""
    outcome = _RunsOutcome()
    for index, run in enumerate(runs):
        try:
            run_record = await notebook.run(run.cell_id, run.source, context.abort)
        except (UserError, Aborted) as error:
            if isinstance(error, Aborted) and not outcome.sections:
                raise
            outcome.not_run = f"{run.label} was not run: {error}"
            outcome.sections.append(outcome.not_run)
            source = error.result.source if isinstance(error, CellNotRun) else None
            if source is not None:
                outcome.sections.append(f"{run.label} holds now:\n{source}")
                outcome.shown_hashes[run.cell_id] = source_hash(source)
            outcome.has_failed = True
        else:
            outcome.count += 1
            outcome.sections.append(_run_text(run, run_record))
            outcome.images += output_images(run_record)
            outcome.has_failed = run_record.status != "ok"
        if outcome.has_failed:
            labels_left = ", ".join(later.label for later in runs[index + 1 :])
            if labels_left:
                outcome.sections.append(f"Not run, since a cell before failed: {labels_left}.")
            break
    return outcome


def _run_text(run: PlannedRun, run_record: CellRun) -> str:
    number = f" as [{run_record.number}]" if run_record.number is not None else ""
    status = "" if run_record.status == "ok" else f", {run_record.status}"
    outputs = [output_section(output) for output in run_record.outputs] or ["(no output)"]
    return "\n\n".join([f"[ran {run.label} id={run.cell_id}{number}{status}]", *outputs])


def _as_metadata(changes: Sequence[MadeChange]) -> list[Mapping[str, Any]]:
    return [change.model_dump(mode="json", exclude_none=True) for change in changes]
