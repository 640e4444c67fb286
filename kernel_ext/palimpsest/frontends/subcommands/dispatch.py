"""Run the subcommands of ``%agent`` and return their output as Markdown, plain text and HTML.

Border: calls the session layer and formats what it returns; nothing here calls a model.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.frontends.cell_turn.services import CellPlace, FrontendServices, Pages
from palimpsest.frontends.magic.line_parser import MagicLine, policy_words
from palimpsest.frontends.magic.session_arguments import SESSION_COMMANDS
from palimpsest.frontends.magic.sharing_arguments import SHARING_COMMANDS
from palimpsest.frontends.subcommands import parts, permissions, policy, reverts
from palimpsest.frontends.subcommands.context import ContextCommands
from palimpsest.frontends.subcommands.definitions import LibraryCommands
from palimpsest.frontends.subcommands.extensions import ExtensionCommands
from palimpsest.frontends.subcommands.sessions import SessionCommands, SessionLines
from palimpsest.frontends.subcommands.sharing import sharing_lines
from palimpsest.frontends.subcommands.step_mode import run_step_command
from palimpsest.frontends.subcommands.storage import StorageCommands
from palimpsest.frontends.subcommands.todos import todo_text
from palimpsest.frontends.usage_errors import usage_error
from palimpsest.render.content.phrases import about_money, count, money, some
from palimpsest.render.reports.table import Basis
from palimpsest.render.safety.escaping import code_span, inline
from palimpsest.session.config.settings import ReplayMode
from palimpsest.session.controls.context_edits import ContextEditAction
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.prompts.hidden_variables import left_out
from palimpsest.tools.tool import NotebookReader
from palimpsest.transcript.context_values.cell_runs import HIDDEN_TAG
from palimpsest.transcript.errors import ConfigError, NotFound, UserError
from palimpsest.transcript.parts import StepFinishPart
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.values import Usage
from palimpsest.transcript.visible_text import visible

WHERE = "in the page, or in %agent wait"
NO_DEFAULT = "none, until a server that is configured says what it has: %agent models names it"
WHY_NO_DEFAULT = "Without -m no model answers, until the server that is named above does."
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
NO_SESSION = "This notebook has no session yet. Ask with %agent, then look again."


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a subcommand, in each format."""

    markdown: str
    plain: str
    html: str = ""
    """The output as HTML, where the subcommand has one."""

    @property
    def bundle(self) -> dict[str, str]:
        """The formats by MIME type."""
        drawn = {"text/html": self.html} if self.html else {}
        return drawn | {"text/markdown": self.markdown, "text/plain": visible(self.plain)}


class Subcommands:
    """Runs subcommands and returns their output."""

    def __init__(self, services: FrontendServices, pages: Pages) -> None:
        self._services = services
        self._pages = pages
        self._unreadable: dict[str, str] = {}
        shelf = SessionCommands(services, pages)
        guests = ExtensionCommands(services)
        definitions = LibraryCommands(services)
        self._by_name: Mapping[str, Callable[[str, CellPlace], CommandOutput]] = {
            "status": self._status,
            "use": functools.partial(self._told, shelf.open),
            **{
                name: functools.partial(self._told, getattr(shelf, name))
                for name in SESSION_COMMANDS
                if name not in ("storage", "branches")
            },
            "stop": self._stop,
            "withdraw": self._withdraw,
            "context": self._context,
            "private": self._private,
            "replay": self._replay,
            "pin": functools.partial(self._wish, "pin"),
            "unpin": functools.partial(self._wish, "unpin"),
            "exclude": functools.partial(self._wish, "exclude"),
            "restore": functools.partial(self._wish, "restore"),
            "revert": functools.partial(self._revert, "revert"),
            "unrevert": functools.partial(self._revert, "unrevert"),
            "cleanup": functools.partial(self._revert, "cleanup"),
            "diff": functools.partial(self._revert, "diff"),
            "todo": self._todo,
            "mode": functools.partial(self._allow, "mode"),
            "permissions": functools.partial(self._allow, "permissions"),
            "budget": functools.partial(self._allow, "budget"),
            "trust": functools.partial(self._allow, "trust"),
            "step": self._step,
            "branches": self._branches,
            "policy": self._policy,
            "agents": functools.partial(self._told, definitions.agents),
            "commands": functools.partial(self._told, definitions.commands),
            "skills": functools.partial(self._told, definitions.skills),
            "models": self._models,
            "config": self._config,
            "hooks": functools.partial(self._told, guests.hooks),
            "mcp": functools.partial(self._told, guests.mcp),
            "storage": self._storage,
            **{name: functools.partial(self._give, name) for name in SHARING_COMMANDS},
        }

    def run(self, request: MagicLine, place: CellPlace) -> CommandOutput:
        """Run one subcommand; raises UsageError with one sentence."""
        try:
            return self._by_name[request.command or ""](request.argument, place)
        except UserError as error:
            raise usage_error(error) from None

    def _current(self, place: CellPlace) -> KernelSession:
        services = self._services
        return services.engine.submit(services.workspace.current(place.notebook)).result()

    def _status(self, _argument: str, place: CellPlace) -> CommandOutput:
        session = self._current(place)
        picture = session.snapshot()
        about = picture.session.about if picture.session else ""
        rows = [
            ("session", f"{session.id}{' (read-only)' if session.read_only else ''}"),
            ("title", picture.session.title if picture.session else ""),
            *((("about", about),) if about else ()),
            ("state", _state(picture)),
            ("model", _model(picture) or self._default_model()),
            ("messages", count(len(picture.messages))),
            (
                "waiting",
                f"{some(len(picture.inbox), 'prompt')}, {some(_asked(picture), 'question')}",
            ),
            ("cost so far", self._cost(session, picture)),
            ("kept in", self._kept()),
        ]
        if broken := self._broken(session):
            rows.append(("not readable", broken))
        if taken := reverts.revert_state_text(picture):
            rows.append(("reverted", taken))
        if self._services.workspace.warning:
            rows.append(("warning", self._services.workspace.warning))
        if self._services.workspace.notice:
            rows.append(("layout", self._services.workspace.notice))
        return table(("", ""), rows)

    def _broken(self, session: KernelSession) -> str:
        """Return what of the session's log cannot be read; reads the log once in a kernel's life."""
        if session.id not in self._unreadable:
            services = self._services
            found = services.engine.submit(services.workspace.problems(session.id)).result()
            first = found[0].sentence if found else ""
            words = f"{some(len(found), 'line')} of the log, left out; the first is {first}"
            if found and not found[0].where:  # the log is gone, which may change
                return first
            self._unreadable[session.id] = words if found else ""
        return self._unreadable[session.id]

    def _cost(self, session: KernelSession, picture: Snapshot) -> str:
        """Return what the session cost; of a recording what review tells of it, since no engine of ours counted it."""
        kept = picture.session
        if kept is None or not kept.read_only:
            return _cost(picture)
        from palimpsest.review.comparison.recorded_words import recorded_words
        from palimpsest.review.comparison.request_totals import request_totals
        from palimpsest.review.replay.ruler import money_words

        review = ContextCommands(self._services).review(session)
        totals = request_totals(review.timeline, review.ruler, review.price())
        told = recorded_words(review.timeline.recorded_totals)
        if not totals.requests:
            return told or money(None)
        basis: Basis = "fact" if totals.cost_is_fact else "estimate"
        return (
            f"{money_words(totals.cost, review.price().unit, basis)}{f' ({told})' if told else ''}"
        )

    def _kept(self) -> str:
        workspace = self._services.workspace
        return "memory only" if workspace.warning else str(workspace.project / ".palimpsest")

    def _stop(self, _argument: str, place: CellPlace) -> CommandOutput:
        stopped = self._current(place).cancel("Stopped.")
        return sentence("Stopped." if stopped else "Nothing was running.")

    def _withdraw(self, argument: str, place: CellPlace) -> CommandOutput:
        session = self._current(place)
        waiting = [one.prompt_id for one in session.snapshot(messages=False).inbox]
        named = waiting if argument == "all" else waiting[-1:]
        gone = sum(session.withdraw(one) for one in named)
        if not gone:
            return sentence("No prompt was waiting.")
        return sentence("Withdrawn." if gone == 1 else f"{gone} prompts were withdrawn.")

    def _revert(self, name: str, argument: str, place: CellPlace) -> CommandOutput:
        session = self._current(place)
        submit = self._services.engine.submit
        said = reverts.run_revert_command(
            name, argument, session.reverts, lambda work: submit(work).result()
        )
        return CommandOutput(*said)

    def _wish(self, action: ContextEditAction, argument: str, place: CellPlace) -> CommandOutput:
        session = self._current(place)
        if argument:
            try:
                return sentence(session.edit_context(action, argument).sentence)
            except NotFound as missing:
                prompt = f"To send it as a prompt, write %agent -- {action} {argument}."
                raise UserError(f"{missing} {prompt}") from None
        rows = parts.part_rows(session.snapshot().messages, session.decisions())
        if not rows:
            return sentence("Nothing was said in this session yet, so there is nothing to choose.")
        text = table(parts.HEAD, rows)
        words = f"%agent {action} ID chooses one of these, the newest first."
        return CommandOutput(f"{text.markdown}\n\n{inline(words)}", f"{text.plain}\n{words}")

    def _todo(self, _argument: str, place: CellPlace) -> CommandOutput:
        return CommandOutput(*todo_text(self._current(place).snapshot(messages=False).todos))

    def _policy(self, argument: str, place: CellPlace) -> CommandOutput:
        session = self._current(place)
        if argument:
            words = policy_words(argument)
            self._services.engine.submit(session.use_policy(*words)).result()
        picture = session.snapshot(messages=False).session
        own = picture is not None and (picture.policy_choice or picture.policy) is not None
        now = session.policy()
        origins = getattr(getattr(self._services, "config", None), "origins", {})
        said = [sentence(policy.summary(now, own=own))]
        if picture is not None and picture.own_policy is not None:
            acts = session.own_policy_acts
            said.append(sentence(policy.own_policy_words(picture.own_policy, acts=acts)))
        found = policy.changes(now, origins, own=own)
        shown = ([found] if found else []) + ([] if argument else policy.sections(now))
        for section in shown:
            said += [CommandOutput(f"**{inline(section.title)}**", section.title)]
            said += [table(section.head, section.rows)]
        return CommandOutput(
            "\n\n".join(t.markdown for t in said), "\n\n".join(t.plain for t in said)
        )

    def _give(self, name: str, argument: str, place: CellPlace) -> CommandOutput:
        said = sharing_lines(name, argument, self._services, lambda: self._current(place).id)
        return CommandOutput("\n\n".join(inline(line) for line in said), "\n".join(said))

    def _context(self, argument: str, place: CellPlace) -> CommandOutput:
        services = self._services
        session = services.engine.submit(services.workspace.known(place.notebook)).result()
        if session is None:
            return sentence(NO_SESSION)
        clean = scrubber(os.environ)
        if argument:
            told = ContextCommands(services).run(argument, session, clean)
            return CommandOutput(told.markdown, told.plain, told.html)
        ledger = ContextCommands(services).window(session, clean, left_out(services))
        return CommandOutput(ledger.markdown, ledger.text, ledger.html)

    def _private(self, _argument: str, _place: CellPlace) -> CommandOutput:
        runs: NotebookReader | None = getattr(self._services, "notebook_runs", None)
        if runs is None:
            return sentence("No cells are told to the agent here.")
        runs.hide_next()
        return sentence(PRIVATE)

    def _replay(self, argument: str, place: CellPlace) -> CommandOutput:
        replay = self._services.workspace.replay
        if argument:
            replay.switch(place.notebook, on=argument == "on")
        mode = replay.mode(place.notebook)
        if argument == "off" and mode != "never":
            return sentence(FIXED.format(mode=mode, does=REPLAY[mode]))
        return sentence(REPLAY[mode])

    def _models(self, _argument: str, _place: CellPlace) -> CommandOutput:
        models = getattr(self._services, "models", None)
        rows = [tuple(str(cell) for cell in row) for row in models()] if callable(models) else []
        default = self._default_model()
        if not rows:
            return sentence(f"The model is {default}. Choose another with -m provider/name.")
        text = table(("model", "window", "why it is here"), rows)
        words = f"Without -m the model is {default}." if default != NO_DEFAULT else WHY_NO_DEFAULT
        return CommandOutput(f"{text.markdown}\n\n{inline(words)}", f"{text.plain}\n{words}")

    def _allow(self, name: str, argument: str, place: CellPlace) -> CommandOutput:
        return CommandOutput(
            *permissions.run_permission_command(name, argument, self._current(place).control, _both)
        )

    def _step(self, argument: str, place: CellPlace) -> CommandOutput:
        lines = run_step_command(argument, self._current(place))
        return CommandOutput("\n\n".join(inline(line) for line in lines), "\n".join(lines))

    def _branches(self, argument: str, place: CellPlace) -> CommandOutput:
        from palimpsest.review.recordings.branch_comparison import compare_branches

        session_id = argument or self._current(place).id
        workspace, submit = self._services.workspace, self._services.engine.submit
        found = compare_branches(
            workspace.sessions(), lambda one: submit(workspace.records(one)).result(), session_id
        )
        return CommandOutput(found.markdown, found.text, found.html)

    def _config(self, argument: str, _place: CellPlace) -> CommandOutput:
        if argument == "trust":
            held: Sequence[Any] = getattr(self._services, "trust", tuple)()
            unwritten = getattr(self._services, "trust_unwritten", "")
            return CommandOutput(*permissions.trust_text(held, unwritten))
        if argument == "distrust":
            gone = getattr(self._services, "distrust", bool)()
            return sentence("It waits for your trust again." if gone else "It was not trusted.")
        config = getattr(self._services, "config", None)
        if not callable(getattr(config, "rows", None)):
            return sentence("Nothing is configured; every setting has its built-in value.")
        return CommandOutput(*permissions.config_text(config, _both))

    def _storage(self, argument: str, place: CellPlace) -> CommandOutput:
        said = StorageCommands(self._services, self._pages).run(argument)
        return self._told(lambda _argument, _place: said, argument, place)

    def _told(
        self, tell: Callable[[str, CellPlace], SessionLines], argument: str, place: CellPlace
    ) -> CommandOutput:
        """Return sentences and tables as one output."""
        texts: list[CommandOutput] = []
        for one in tell(argument, place):
            if isinstance(one, str):
                texts.append(sentence(one))
                continue
            texts += [CommandOutput(f"**{inline(one.title)}**", one.title)] if one.title else []
            texts.append(table(one.head, one.rows))
        return CommandOutput(
            "\n\n".join(t.markdown for t in texts), "\n\n".join(t.plain for t in texts)
        )

    def _default_model(self) -> str:
        default = getattr(self._services, "default_model", None)
        try:
            return str(default()) if callable(default) else "unknown"
        except ConfigError:
            return NO_DEFAULT


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


def _asked(picture: Snapshot) -> int:
    return len(picture.asks) + len(picture.questions)


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


def _both(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    text = table(head, rows)
    return text.markdown, text.plain


def sentence(words: str) -> CommandOutput:
    """Return one sentence as Markdown and as plain text."""
    return CommandOutput(inline(words), words)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> CommandOutput:
    """Return rows as a Markdown table and as aligned text."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [code_span(row[0]), *(inline(cell).replace("|", "\\|") for cell in row[1:])]
        lines.append(f"| {' | '.join(cells)} |")
    everything = [head, *rows] if any(head) else rows
    widths = [max(len(row[i]) for row in everything) for i in range(len(head))]
    plain = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in everything
    ]
    return CommandOutput("\n".join(lines), "\n".join(plain))
