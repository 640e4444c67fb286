"""Run ``%agent share``, ``unshare``, ``export`` and ``import``, and write their output.

Border: parses the arguments of the subcommand and writes the outcome as text;
``frontends/subcommands/dispatch.py`` shows it.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.render.content.phrases import count, size_text
from palimpsest.session.engine import EngineThread
from palimpsest.session.interfaces.sharing_operations import Form
from palimpsest.session.sharing.exports import form_of
from palimpsest.store.exchange.importer import Imported, ImportReport
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

if TYPE_CHECKING:
    from palimpsest.session.sharing.sharing_service import SharingService

MOST_PROBLEMS = 10
"""How many problems a cell shows; the Python call returns all of them."""

GO_ON = "%agent use ID goes on with one of them; nothing of it was run."
READ_ONLY = (
    "%agent use ID opens one of them. A recording of another agent is only read; %agent fork ID goes on from it. "
    "Nothing of it was run."
)
_OUTCOMES = {
    "new": "new",
    "same": "here already",
    "updated": "updated",
    "copy": "came as a copy, because the one here went on or is another one",
}


def sharing_lines(
    name: str, argument: str, services: FrontendServices, current: Callable[[], str]
) -> Sequence[str]:
    """Run one of these subcommands and return its output; ``current`` gives the notebook's session."""
    engine, sharing = services.engine, services.workspace.sharing
    match name:
        case "share":
            return [share_text(engine, sharing, current())]
        case "unshare":
            return [unshare_text(engine, sharing, current())]
        case "export":
            return [export_text(engine, sharing, current(), argument)]
        case _:
            return import_lines(engine, sharing, argument)


def share_text(engine: EngineThread, sharing: "SharingService", session_id: str) -> str:
    """Share a session and return where the page is."""
    path = engine.submit(sharing.share(session_id)).result()
    return (
        f"The page of this session is {path} ({size_text(path.stat().st_size)}). It is one file that needs no "
        "network; open it in a browser, look through it, and pass it on. %agent unshare deletes it."
    )


def unshare_text(engine: EngineThread, sharing: "SharingService", session_id: str) -> str:
    """Delete the shared page and return a sentence about it."""
    if engine.submit(sharing.unshare(session_id)).result():
        return "The page is deleted. Copies that were passed on stay where they are."
    return "This session was not shared."


def export_text(
    engine: EngineThread, sharing: "SharingService", session_id: str, argument: str
) -> str:
    """Export a session as the argument says, and return where the file is."""
    form, path = export_request(argument)
    made = engine.submit(sharing.export(session_id, form, path)).result()
    words = f"This session is written to {recorded_name(str(made.path))} ({size_text(made.bytes)})."
    if made.form in ("json", "opencode"):
        return f"{words} %agent import brings it into another project."
    return words


def export_request(argument: str) -> tuple[Form | None, str | None]:
    """Parse ``[md|ipynb|json|html|opencode|atif] [path]``; raises UserError for further arguments."""
    words = split_words(argument)
    form = form_of(words[0]) if words and "." not in words[0] and "/" not in words[0] else None
    rest = words[1:] if form is not None else words
    if len(rest) > 1:
        raise UserError(
            "Write %agent export [md|ipynb|json|html|opencode|atif] [path]; put a path with blanks in quotes."
        )
    return form, rest[0] if rest else None


def split_words(argument: str) -> list[str]:
    """Split an argument as a shell does; raises UserError for a quote that never ends."""
    try:
        return shlex.split(argument)
    except ValueError:
        raise UserError("A quote in the path never ends.") from None


def import_lines(engine: EngineThread, sharing: "SharingService", argument: str) -> Sequence[str]:
    """Import the sessions at a path, and return a report in lines."""
    words = split_words(argument)
    if len(words) != 1:
        raise UserError(
            "Write %agent import PATH: a recording of another agent, an exported session, or a folder of them."
        )
    running = engine.submit(sharing.import_sessions(words[0]))
    try:
        report = running.result()
    except KeyboardInterrupt:
        running.cancel()
        raise
    return report_lines(report)


def report_lines(report: ImportReport) -> Sequence[str]:
    """Return which sessions were imported, and what could not be read, in lines."""
    lines = [_told(one) for one in report.sessions] or ["No session was found there."]
    if report.sessions:
        lines.append(READ_ONLY if any(one.read_only for one in report.sessions) else GO_ON)
    shown = report.problems[:MOST_PROBLEMS]
    lines += [f"Not read: {one.where}. {one.what}" for one in shown]
    if len(report.problems) > len(shown):
        lines.append(f"{count(len(report.problems) - len(shown))} more could not be read.")
    return lines


def _told(one: Imported) -> str:
    messages = "1 message" if one.messages == 1 else f"{count(one.messages)} messages"
    return f"{one.id} ({one.title}), {messages}: {_OUTCOMES[one.outcome]}."
