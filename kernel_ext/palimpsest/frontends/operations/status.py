"""Operations that show the session's state, its todo list and the settings, hide a cell, and switch replay."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_base.operation import Operation, OperationContext, single_form
from palimpsest.frontends.operation_text.command_output import (
    CommandOutput,
    OutputLines,
    TitledTable,
    sentence_output,
)
from palimpsest.frontends.operation_text.context_answers import ContextAnswers
from palimpsest.frontends.operation_text.revert_text import revert_state_text
from palimpsest.frontends.operations.controls import TrustProject
from palimpsest.frontends.operations.definitions import default_model
from palimpsest.frontends.protocol.answers import SettingRow
from palimpsest.render.content.phrases import about_money, count, counted_noun, money
from palimpsest.render.reports.table import Basis
from palimpsest.render.safety.escaping import escape_inline
from palimpsest.session.config.settings import ReplayMode
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.cell_runs import HIDDEN_TAG
from palimpsest.transcript.messages import parts_of
from palimpsest.transcript.parts import StepFinishPart
from palimpsest.transcript.strings.todo_list import checklist, tally
from palimpsest.transcript.values import Todo, Usage, Value

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.workspace import Workspace

NO_TODOS = (
    "The agent keeps no todo list in this session yet; it writes one for work of several steps."
)
WHERE_TO_ANSWER = "in the page, or in %agent wait"
HIDDEN_CELL_SENTENCE = (
    "The next cell that you run is kept from the agent: its source, its output and its errors. The tag "
    f"{HIDDEN_TAG} does that for a cell each time."
)
REPLAY_SENTENCES: Mapping[ReplayMode, str] = {
    "only": "Cells show their recorded answers, and send nothing.",
    "ask": "Cells show their recorded answers. Run All asks before it sends a prompt that has none.",
    "prefer": "Cells show their recorded answers, and send the prompts that have none.",
    "never": "Each cell sends its prompt whenever it runs, with Run All too. %agent replay on ends that.",
}
REPLAY_SETTING_WINS = "The setting replay is {mode} or fixed, which counts before this. {does}"
_UNREADABLE_LOG_SENTENCES: dict[tuple[str, str], str] = {}
"""The sentence on a log's unreadable lines, by project and session: a kernel checks each log once."""


class ShowStatus(Operation):
    """Show the notebook's session, its model, and whether it runs or waits."""

    type: Literal["status"] = "status"
    in_page: ClassVar[bool] = False
    forms = single_form(
        "status", "the session of this notebook, its model, what runs and what waits"
    )

    async def run(self, context: OperationContext) -> OutputLines:
        session = await context.find(None)
        workspace = context.services.workspace
        unreadable_sentence = await _unreadable_log_sentence(session, workspace)
        rows = await asyncio.to_thread(_status_rows, session, unreadable_sentence, context.services)
        return [TitledTable("", ("", ""), rows)]


def _status_rows(
    session: KernelSession, unreadable_sentence: str, services: FrontendServices
) -> list[tuple[str, str]]:
    snapshot, workspace = session.snapshot(), services.workspace
    session_summary = snapshot.session.about if snapshot.session else ""
    open_question_count = len(snapshot.asks) + len(snapshot.questions)
    folder = "memory only" if workspace.warning else str(workspace.project / ".palimpsest")
    return [
        ("session", f"{session.id}{' (read-only)' if session.read_only else ''}"),
        ("title", snapshot.session.title if snapshot.session else ""),
        *((("about", session_summary),) if session_summary else ()),
        ("state", _state_text(snapshot)),
        ("model", _model_text(snapshot) or default_model(services)),
        ("messages", count(len(snapshot.messages))),
        (
            "waiting",
            f"{counted_noun(len(snapshot.inbox), 'prompt')}, {counted_noun(open_question_count, 'question')}",
        ),
        ("cost so far", _session_cost_text(session, snapshot, services)),
        ("kept in", folder),
        *((("not readable", unreadable_sentence),) if unreadable_sentence else ()),
        *((("reverted", reverted_text),) if (reverted_text := revert_state_text(snapshot)) else ()),
        *((("warning", workspace.warning),) if workspace.warning else ()),
        *((("layout", workspace.notice),) if workspace.notice else ()),
    ]


async def _unreadable_log_sentence(session: KernelSession, workspace: "Workspace") -> str:
    """Return a sentence about the unreadable part of the session's log; empty without one."""
    key = str(workspace.project), session.id
    if key not in _UNREADABLE_LOG_SENTENCES:
        problems = await workspace.problems(session.id)
        first_sentence = problems[0].sentence if problems else ""
        sentence = f"{counted_noun(len(problems), 'line')} of the log, left out; the first is {first_sentence}"
        if problems and not problems[0].where:  # the log is missing, which may change: ask again
            return first_sentence
        _UNREADABLE_LOG_SENTENCES[key] = sentence if problems else ""
    return _UNREADABLE_LOG_SENTENCES[key]


def _session_cost_text(
    session: KernelSession, snapshot: Snapshot, services: FrontendServices
) -> str:
    """Return the session's cost; for a recording of another agent, as review computes it."""
    info = snapshot.session
    if info is None or not info.read_only:
        return _cost_text(snapshot)
    from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
    from palimpsest.review.tables.recording_sentences import totals_sentence
    from palimpsest.review.tables.request_totals import request_totals

    review = ContextAnswers(services).review(session)
    totals = request_totals(review.timeline, review.ruler, review.price())
    recorded_text = totals_sentence(review.timeline.recorded_totals)
    if not totals.requests:
        return recorded_text or money(None)
    basis: Basis = "fact" if totals.cost_is_fact else "estimate"
    return f"{amount_with_unit(totals.cost, review.price().unit, basis)}{f' ({recorded_text})' if recorded_text else ''}"


def _state_text(snapshot: Snapshot) -> str:
    status = snapshot.status
    if status.type == "retry":
        return f"waits to try again: {status.message}"
    if snapshot.questions:
        questions = snapshot.questions[0].questions
        return (
            f"waits for your answer {WHERE_TO_ANSWER}: {questions[0].question if questions else ''}"
        )
    if snapshot.asks:
        return (
            f"waits for your answer {WHERE_TO_ANSWER}, or for %agent stop: {snapshot.asks[0].title}"
        )
    return {"idle": "idle", "busy": "runs"}[status.type]


def _cost_text(snapshot: Snapshot) -> str:
    info = snapshot.session
    if info is None:
        return money(None)
    has_spent = info.cost is not None or info.tokens != Usage()
    is_estimate = any(
        isinstance(part, StepFinishPart) and part.cost_listed
        for part in parts_of(snapshot.messages)
    )
    return about_money(info.cost if has_spent else 0.0, is_estimate=is_estimate)


def _model_text(snapshot: Snapshot) -> str:
    model = snapshot.session.model if snapshot.session else None
    if model is None:
        return ""
    return f"{model.id} ({model.variant})" if model.variant else model.id


def _todo_line(todo: Todo) -> str:
    content = escape_inline(todo.content)
    if todo.status == "cancelled":
        return f"- ~~{content}~~ (dropped)\n"
    check_mark = "x" if todo.status == "completed" else " "
    remark = " (in work)" if todo.status == "in_progress" else ""
    remark += " (important)" if todo.priority == "high" and todo.status != "completed" else ""
    return f"- [{check_mark}] {content}{remark}\n"


class ListedTodos(Value):
    """The agent's todo list."""

    todos: tuple[Todo, ...]


class ListTodos(Operation):
    """Show the session's todo list."""

    type: Literal["todo"] = "todo"
    in_page: ClassVar[bool] = False
    forms = single_form("todo", "what the agent has to do in this session")

    async def run(self, context: OperationContext) -> ListedTodos:
        return ListedTodos(todos=(await context.find(None)).snapshot(messages=False).todos)

    def output(self, answer: ListedTodos) -> CommandOutput:
        if not answer.todos:
            return sentence_output(NO_TODOS)
        tally_text = tally(answer.todos)
        tally_sentence = f"{tally_text[:1].upper()}{tally_text[1:]}."
        lines = "".join(map(_todo_line, answer.todos))
        return CommandOutput(
            f"{tally_sentence}\n\n{lines}", f"{tally_sentence}\n{checklist(answer.todos)}"
        )


class HideCell(Operation):
    """Keep the next cell, its output and its errors from the agent."""

    type: Literal["private"] = "private"
    in_page: ClassVar[bool] = False
    forms = single_form("private", "keep the next cell, its output and its errors from the agent")

    async def run(self, context: OperationContext) -> str:
        runs = context.services.notebook_runs
        if runs is None:
            return "No cells are told to the agent here."
        runs.hide_next()
        return HIDDEN_CELL_SENTENCE


class SwitchReplay(Operation):
    """Show or switch whether cells show their recorded answers."""

    type: Literal["replay"] = "replay"
    on: Literal["", "on", "off"] = ""
    in_page: ClassVar[bool] = False
    forms = single_form(
        "replay",
        "whether cells show their recorded answers; %agent replay off lets each ask again, on ends that",
        ("on",),
    )

    async def run(self, context: OperationContext) -> str:
        replay = context.services.workspace.replay
        if self.on:
            replay.switch_replay(context.notebook, is_on=self.on == "on")
        mode = replay.mode(context.notebook)
        if self.on == "off" and mode != "never":
            return REPLAY_SETTING_WINS.format(mode=mode, does=REPLAY_SENTENCES[mode])
        return REPLAY_SENTENCES[mode]


class ListedSettings(Value):
    """Every setting with its origin."""

    settings: tuple[SettingRow, ...]
    remarks: tuple[str, ...] = ()
    """Sentences on settings that are wrong or wait for trust."""
    titled_remarks: tuple[tuple[str, tuple[str, ...]], ...] = Field(exclude=True)
    """The remarks under their titles."""


CONFIG_ARGUMENTS: Mapping[str, Operation | Mapping[str, Any]] = {
    "": {},
    "trust": TrustProject(),
    "distrust": TrustProject(trusted=False),
}
"""Operation or arguments by the word after ``%agent config``."""


class ListSettings(Operation):
    """List every setting with its origin."""

    type: Literal["config"] = "config"
    forms = single_form(
        "config",
        "every setting and where it came from; %agent config trust believes this project's file",
        parse_rest=lambda rest: CONFIG_ARGUMENTS.get(rest.strip()),
        keywords=("trust", "distrust"),
        is_never_prompt=True,
    )

    async def run(self, context: OperationContext) -> ListedSettings:
        config = context.services.config
        titled_remarks = tuple(config.remarks())
        return ListedSettings(
            settings=tuple(
                SettingRow(key=key, value=value, origin=origin)
                for key, value, origin in config.rows()
            ),
            remarks=tuple(
                f"{title}: {sentence}"
                for title, sentences in titled_remarks
                for sentence in sentences
            ),
            titled_remarks=titled_remarks,
        )

    def output(self, answer: ListedSettings) -> OutputLines:
        rows = [(setting.key, str(setting.value), setting.origin) for setting in answer.settings]
        remark_outputs = [
            CommandOutput(
                f"**{escape_inline(title)}**\n\n"
                + "\n".join(f"- {escape_inline(sentence)}" for sentence in sentences),
                "\n".join([title, *(f"- {sentence}" for sentence in sentences)]),
            )
            for title, sentences in answer.titled_remarks
        ]
        return [TitledTable("", ("setting", "value", "from"), rows), *remark_outputs]
