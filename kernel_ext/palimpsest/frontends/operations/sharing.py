"""Share, export and import sessions. A browser page may name only files inside the project."""

import asyncio
import shlex
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from palimpsest.frontends.operation_base.grammar import OptionError
from palimpsest.frontends.operation_base.operation import (
    Argument,
    Done,
    FileName,
    Form,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import CommandOutput, unspaced_output
from palimpsest.frontends.operation_text.command_report import CommandReport
from palimpsest.frontends.protocol.answers import ExportedFile, ImportProgressNotice
from palimpsest.render.content.phrases import count, counted_noun, size_text
from palimpsest.store.exchange.import_report import ImportControl, Imported
from palimpsest.store.interface import Problem
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import Value
from palimpsest.transcript.visible_text import visible_line

MIN_PROGRESS_SECONDS = 0.2
"""Minimum time between two progress notices of an import."""
MAX_SENT_BYTES = 1_500_000
"""Size above which a shared page is not sent to the browser: about what a server forwards in one message."""
MAX_SHOWN_PROBLEMS = 10
"""Maximum problems that a cell shows; the Python call returns all of them."""

CONTINUE_HINT = "%agent use ID goes on with one of them; nothing of it was run."
READ_ONLY_HINT = (
    "%agent use ID opens one of them. A recording of another agent is only read; %agent fork ID goes on from it. "
    "Nothing of it was run."
)
OUTCOME_TEXTS = {
    "new": "new",
    "same": "here already",
    "updated": "updated",
    "copy": "came as a copy, because the one here went on or is another one",
}
IMPORT_USAGE = "Write %agent import PATH: a recording of another agent, an exported session, or a folder of them."
_STOP_EVENTS: dict[str, threading.Event] = {}
"""For each running import, by its operation's id, the event that stops it when it is set."""


class ImportedSessions(Value):
    """The imported sessions, and the problems of an import."""

    imported: tuple[Imported, ...]
    unreadable: tuple[Problem, ...]
    notes: int = 0
    """Lines of people's notes on the sessions that came with them."""
    project: str = Field(default="", exclude=True)
    """The project's folder."""


class FileOperation(Operation):
    """An operation that writes a session to a file."""

    session: str | None = None

    def _exported_file(
        self, context: OperationContext, path: Path, size: int, form: str, text: str = ""
    ) -> ExportedFile:
        root = context.services.workspace.project
        is_inside = root in path.parents
        return ExportedFile(
            path=str(path),
            shown=path.relative_to(root).as_posix() if is_inside else str(path),
            bytes=size,
            form=form,
            content=text if text and size <= MAX_SENT_BYTES else None,
        )


class Share(FileOperation):
    """Write or rewrite the session's share page."""

    type: Literal["share"] = "share"
    forms = single_form("share", "make a page of this session that can be passed on", view="share")

    async def run(self, context: OperationContext) -> ExportedFile:
        session_id = await context.session_id(self.session)
        path: Path = await context.services.workspace.sharing.share(session_id)
        text = await asyncio.to_thread(path.read_text, encoding="utf-8")
        return self._exported_file(context, path, len(text.encode()), "html", text)

    def output(self, answer: ExportedFile) -> str:
        return (
            f"The page of this session is {answer.path} ({size_text(answer.bytes)}). It is one file that needs no "
            "network; open it in a browser, look through it, and pass it on. %agent unshare deletes it."
        )


class Unshare(Operation):
    """Delete the session's share page."""

    type: Literal["unshare"] = "unshare"
    session: str | None = None
    forms = single_form("unshare", "delete that page")

    async def run(self, context: OperationContext) -> Done:
        session_id = await context.session_id(self.session)
        return Done(late=not await context.services.workspace.sharing.unshare(session_id))

    def output(self, answer: Done) -> str:
        if answer.late:
            return "This session was not shared."
        return "The page is deleted. Copies that were passed on stay where they are."


def _parse_export(argument_text: str) -> dict[str, Any] | None:
    from palimpsest.session.sharing.exports import form_of

    words = _split_words(argument_text)
    form = form_of(words[0]) if words and not set(words[0]) & set("./") else None
    if form is not None:
        words = words[1:]
    elif words and not (len(words) == 1 and _is_path(words[0])):
        return None
    if len(words) > 1:
        return None
    return {"form": form, "path": words[0] if words else None}


class Export(FileOperation):
    """Write the session to a new file inside the project."""

    type: Literal["export"] = "export"
    form: Literal["md", "ipynb", "json", "html", "opencode", "atif"] | None = None
    path: str | None = Field(default=None, max_length=1000)
    prompts: Literal["markdown", "cells"] = "markdown"
    """In a notebook: the prompts as text, or as ``%%agent`` cells."""
    forms = single_form(
        "export",
        "write this session to a file: %agent export [md|ipynb|json|html|opencode|atif] [path]",
        parse_rest=_parse_export,
        keywords=("md", "ipynb", "json", "html", "opencode", "atif"),
    )

    async def run(self, context: OperationContext) -> ExportedFile:
        session_id = await context.session_id(self.session)
        file = await context.services.workspace.sharing.export(
            session_id, self.form, self.path, prompts=self.prompts, stays_inside=context.is_page
        )
        return self._exported_file(context, file.path, file.bytes, file.form)

    def output(self, answer: ExportedFile) -> str:
        name = recorded_name(answer.path)
        sentence = f"This session is written to {name} ({size_text(answer.bytes)})."
        if answer.form in ("json", "opencode"):
            return f"{sentence} %agent import brings it into another project."
        return sentence


def _parse_import(argument_text: str) -> dict[str, Any] | None:
    words = _split_words(argument_text)
    if not words:
        raise OptionError(IMPORT_USAGE)
    if len(words) > 1 or not (_is_path(words[0]) or Path(words[0]).exists()):
        return None
    return {"path": words[0]}


class Import(Operation):
    """Import sessions from a file or folder; a page may name only one inside the project."""

    type: Literal["import"] = "import"
    path: Annotated[FileName, Argument("PATH", help="a recording, or a folder of recordings")] = (
        Field(min_length=1, max_length=4_096)
    )
    forms = (
        Form(
            "import",
            fields=("path",),
            in_panel=False,
            in_cell=False,
            in_terminal=True,
            in_project=True,
        ),
        Form(
            "import",
            "bring sessions in: %agent import PATH (OpenCode's storage, or an exported JSON)",
            parse_rest=_parse_import,
        ),
    )
    ends_with_cell: ClassVar[bool] = True

    async def run(self, context: OperationContext) -> ImportedSessions:
        stop_event = _STOP_EVENTS[self.id] = threading.Event()
        place = context.import_place or context.services.workspace.sharing.imports
        progress = context.progress or self._progress_sender(context.publish)
        import_control = ImportControl(progress, stop_event.is_set)
        try:
            report = await context.run_blocking(
                place.import_from, self.path, import_control, stays_inside=context.is_page
            )
        except asyncio.CancelledError:
            stop_event.set()
            raise
        finally:
            _STOP_EVENTS.pop(self.id, None)
        return ImportedSessions(
            imported=report.sessions,
            unreadable=report.problems,
            notes=report.notes,
            project=str(place.root),
        )

    def _progress_sender(self, publish: Callable[[BaseModel], None]) -> Callable[[int, int], None]:
        """Return a function that sends the import's progress to the pages, at most a few times a second."""
        publish(ImportProgressNotice(id=self.id, bytes=0, total=0))
        last_sent_at = time.monotonic()

        def send_progress(read_bytes: int, total_bytes: int) -> None:
            nonlocal last_sent_at
            now = time.monotonic()
            if now - last_sent_at >= MIN_PROGRESS_SECONDS:
                last_sent_at = now
                publish(ImportProgressNotice(id=self.id, bytes=read_bytes, total=total_bytes))

        return send_progress

    def output(self, answer: ImportedSessions) -> CommandOutput:
        lines = [
            f"{session.id} ({session.title}), {counted_noun(session.messages, 'message')}: {OUTCOME_TEXTS[session.outcome]}."
            for session in answer.imported
        ]
        if answer.imported:
            is_read_only = any(session.read_only for session in answer.imported)
            lines.append(READ_ONLY_HINT if is_read_only else CONTINUE_HINT)
        else:
            lines = ["No session was found there."]
        lines += [_notes_sentence(answer.notes)] if answer.notes else []
        shown_problems = answer.unreadable[:MAX_SHOWN_PROBLEMS]
        lines += [f"Not read: {problem.where}. {problem.what}" for problem in shown_problems]
        if len(answer.unreadable) > len(shown_problems):
            lines.append(
                f"{count(len(answer.unreadable) - len(shown_problems))} more could not be read."
            )
        return unspaced_output(lines)

    def report(self, answer: ImportedSessions) -> CommandReport:
        imported, project = answer.imported, answer.project
        sentences = [
            f"{session.outcome:<8} {session.id}  {session.messages:>6,} messages  {visible_line(session.title)}"
            for session in imported
        ]
        sentences.append(f"{len(imported)} sessions are in {project}.")
        sentences += [_notes_sentence(answer.notes)] if answer.notes else []
        sessions = [
            {
                "session": session.id,
                "title": session.title,
                "outcome": session.outcome,
                "messages": session.messages,
            }
            for session in imported
        ]
        values = {"project": project, "sessions": sessions, "notes": answer.notes}
        return CommandReport("import", values, problems=answer.unreadable, text_lines=sentences)


class StopImport(Operation):
    """Stop a running import; imported sessions stay, and a new import of the same source continues there."""

    type: Literal["stop-import"] = "stop-import"
    import_id: str
    """The id of the import operation."""

    async def run(self, context: OperationContext) -> Done:  # noqa: ARG002
        stop_event = _STOP_EVENTS.get(self.import_id)
        if stop_event is not None:
            stop_event.set()
        return Done(late=stop_event is None)


def _notes_sentence(line_count: int) -> str:
    return f"{counted_noun(line_count, 'line')} of notes on them came along."


def _split_words(argument_text: str) -> list[str]:
    """Split a line as a shell does; raises OptionError for a quote that never ends."""
    try:
        return shlex.split(argument_text)
    except ValueError:
        words = argument_text.split()
        if any(map(_is_path, words)):
            raise OptionError("A quote in the path never ends.") from None
        return words


def _is_path(word: str) -> bool:
    return any(character in word for character in "./\\~")
