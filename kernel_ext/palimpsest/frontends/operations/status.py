"""Show the state of the notebook's session, its todo list, and the settings; keep a cell private; replay or not."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_text.command_output import CommandOutput, Lines, PolicySection
from palimpsest.frontends.operation_text.context_answers import ContextAnswers
from palimpsest.frontends.operation_text.revert_text import revert_state_text
from palimpsest.frontends.operation_text.todo_text import todo_text
from palimpsest.frontends.operations.controls import TrustProject
from palimpsest.frontends.operations.definitions import default_model
from palimpsest.frontends.operations.operation import Desk, Form, Operation
from palimpsest.frontends.protocol.project import SettingRow
from palimpsest.render.content.phrases import about_money, count, money, some
from palimpsest.render.reports.table import Basis
from palimpsest.render.safety.escaping import inline
from palimpsest.session.config.settings import ReplayMode
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.cell_runs import HIDDEN_TAG
from palimpsest.transcript.parts import StepFinishPart
from palimpsest.transcript.values import Todo, Usage, Value

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.workspace import Workspace

WHERE = "in the page, or in %agent wait"
PRIVATE = (
    "The next cell that you run is kept from the agent: its source, its output and its errors. The tag "
    f"{HIDDEN_TAG} does that for a cell each time."
)
REPLAY: Mapping[ReplayMode, str] = {
    "only": "Cells show their recorded answers, and send nothing.",
    "ask": "Cells show their recorded answers. Run All asks before it sends a prompt that has none.",
    "prefer": "Cells show their recorded answers, and send the prompts that have none.",
    "never": "Each cell sends its prompt whenever it runs, with Run All too. %agent replay on ends that.",
}
FIXED = "The setting replay is {mode} or fixed, which counts before this. {does}"
_UNREADABLE: dict[tuple[str, str], str] = {}
"""What of a session's log cannot be read, by project and session: a log is read for it once in a kernel's life."""


class ShowStatus(Operation):
    """Show the notebook's session, its model, what runs and what waits."""

    type: Literal["status"] = "status"
    in_page: ClassVar[bool] = False
    forms = (Form("status", "the session of this notebook, its model, what runs and what waits"),)

    async def run(self, at: Desk) -> Lines:
        session = await at.find(None)
        workspace = at.services.workspace
        broken = await _broken(session, workspace)
        rows = await asyncio.to_thread(_facts, session, broken, at.services)
        return [PolicySection("", ("", ""), rows)]


def _facts(
    session: KernelSession, broken: str, services: FrontendServices
) -> list[tuple[str, str]]:
    picture, workspace = session.snapshot(), services.workspace
    about = picture.session.about if picture.session else ""
    asked = len(picture.asks) + len(picture.questions)
    kept = "memory only" if workspace.warning else str(workspace.project / ".palimpsest")
    return [
        ("session", f"{session.id}{' (read-only)' if session.read_only else ''}"),
        ("title", picture.session.title if picture.session else ""),
        *((("about", about),) if about else ()),
        ("state", _state(picture)),
        ("model", _model(picture) or default_model(services)),
        ("messages", count(len(picture.messages))),
        ("waiting", f"{some(len(picture.inbox), 'prompt')}, {some(asked, 'question')}"),
        ("cost so far", _session_cost(session, picture, services)),
        ("kept in", kept),
        *((("not readable", broken),) if broken else ()),
        *((("reverted", taken),) if (taken := revert_state_text(picture)) else ()),
        *((("warning", workspace.warning),) if workspace.warning else ()),
        *((("layout", workspace.notice),) if workspace.notice else ()),
    ]


async def _broken(session: KernelSession, workspace: "Workspace") -> str:
    """Return what of the session's log cannot be read."""
    key = str(workspace.project), session.id
    if key not in _UNREADABLE:
        found = await workspace.problems(session.id)
        first = found[0].sentence if found else ""
        words = f"{some(len(found), 'line')} of the log, left out; the first is {first}"
        if found and not found[0].where:  # the log is gone, which may change
            return first
        _UNREADABLE[key] = words if found else ""
    return _UNREADABLE[key]


def _session_cost(session: KernelSession, picture: Snapshot, services: FrontendServices) -> str:
    """Return what the session cost; of a recording what review tells of it, since no engine of ours counted it."""
    kept = picture.session
    if kept is None or not kept.read_only:
        return _cost(picture)
    from palimpsest.review.comparison.recorded_words import recorded_words
    from palimpsest.review.comparison.request_totals import request_totals
    from palimpsest.review.replay.ruler import money_words

    review = ContextAnswers(services).review(session)
    totals = request_totals(review.timeline, review.ruler, review.price())
    told = recorded_words(review.timeline.recorded_totals)
    if not totals.requests:
        return told or money(None)
    basis: Basis = "fact" if totals.cost_is_fact else "estimate"
    return f"{money_words(totals.cost, review.price().unit, basis)}{f' ({told})' if told else ''}"


def _state(picture: Snapshot) -> str:
    status = picture.status
    if status.type == "retry":
        return f"waits to try again: {status.message}"
    if picture.questions:
        asked = picture.questions[0].questions
        return f"waits for your answer {WHERE}: {asked[0].question if asked else ''}"
    if picture.asks:
        return f"waits for your answer {WHERE}, or for %agent stop: {picture.asks[0].title}"
    return {"idle": "idle", "busy": "runs"}[status.type]


def _cost(picture: Snapshot) -> str:
    session = picture.session
    if session is None:
        return money(None)
    spent = session.cost is not None or session.tokens != Usage()
    listed = any(
        isinstance(part, StepFinishPart) and part.cost_listed
        for message in picture.messages
        for part in message.parts
    )
    return about_money(session.cost if spent else 0.0, is_estimate=listed)


def _model(picture: Snapshot) -> str:
    model = picture.session.model if picture.session else None
    if model is None:
        return ""
    return f"{model.id} ({model.variant})" if model.variant else model.id


class ListedTodos(Value):
    """The agent's todo list."""

    todos: tuple[Todo, ...]


class ListTodos(Operation):
    """Show what the agent has to do in this session."""

    type: Literal["todo"] = "todo"
    in_page: ClassVar[bool] = False
    forms = (Form("todo", "what the agent has to do in this session"),)

    async def run(self, at: Desk) -> ListedTodos:
        return ListedTodos(todos=(await at.find(None)).snapshot(messages=False).todos)

    def output(self, answer: ListedTodos) -> CommandOutput:
        return CommandOutput(*todo_text(answer.todos))


class HideCell(Operation):
    """Keep the next cell, its output and its errors from the agent."""

    type: Literal["private"] = "private"
    in_page: ClassVar[bool] = False
    forms = (Form("private", "keep the next cell, its output and its errors from the agent"),)

    async def run(self, at: Desk) -> str:
        runs = at.services.notebook_runs
        if runs is None:
            return "No cells are told to the agent here."
        runs.hide_next()
        return PRIVATE


class SwitchReplay(Operation):
    """Tell whether cells show their recorded answers, or choose it."""

    type: Literal["replay"] = "replay"
    on: Literal["", "on", "off"] = ""
    in_page: ClassVar[bool] = False
    forms = (
        Form(
            "replay",
            "whether cells show their recorded answers; %agent replay off lets each ask again, on ends that",
            ("on",),
        ),
    )

    async def run(self, at: Desk) -> str:
        replay = at.services.workspace.replay
        if self.on:
            replay.switch(at.notebook, on=self.on == "on")
        mode = replay.mode(at.notebook)
        if self.on == "off" and mode != "never":
            return FIXED.format(mode=mode, does=REPLAY[mode])
        return REPLAY[mode]


class ListedSettings(Value):
    """Every setting and where it came from."""

    settings: tuple[SettingRow, ...]
    remarks: tuple[str, ...] = ()
    """Settings that are wrong or wait for trust."""
    titled: tuple[tuple[str, tuple[str, ...]], ...] = Field(exclude=True)
    """The remarks under their titles."""


SETTINGS: Mapping[str, Operation | Mapping[str, Any]] = {
    "": {},
    "trust": TrustProject(),
    "distrust": TrustProject(trusted=False),
}
"""What may follow ``%agent config``."""


class ListSettings(Operation):
    """List every setting and where it came from."""

    type: Literal["config"] = "config"
    forms = (
        Form(
            "config",
            "every setting and where it came from; %agent config trust believes this project's file",
            read=lambda rest: SETTINGS.get(rest.strip()),
            keywords=("trust", "distrust"),
            begins_no_prompt=True,
        ),
    )

    async def run(self, at: Desk) -> ListedSettings:
        config = at.services.config
        remarks = tuple(config.remarks())
        return ListedSettings(
            settings=tuple(
                SettingRow(key=key, value=value, origin=origin)
                for key, value, origin in config.rows()
            ),
            remarks=tuple(f"{title}: {one}" for title, told in remarks for one in told),
            titled=remarks,
        )

    def output(self, answer: ListedSettings) -> Lines:
        rows = [(one.key, str(one.value), one.origin) for one in answer.settings]
        remarks = [
            CommandOutput(
                f"**{inline(title)}**\n\n" + "\n".join(f"- {inline(one)}" for one in told),
                "\n".join([title, *(f"- {one}" for one in told)]),
            )
            for title, told in answer.titled
        ]
        return [PolicySection("", ("setting", "value", "from"), rows), *remarks]
