"""Export a session to a file: Markdown, a notebook, JSON, a page, OpenCode's storage or ATIF.

Border: writes one new file or folder at the given path, and overwrites nothing. Keys are removed from every
format; home folder names only from the formats for people: Markdown, notebook and page.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.formats.item_writer import NumberedMessage, in_turns
from palimpsest.render.formats.markdown import render_turn
from palimpsest.render.formats.notebook import NOTEBOOK_CAPS, Prompts, notebook
from palimpsest.render.safety.escaping import escape_inline, one_line
from palimpsest.session.interfaces.sharing_operations import FORMS, Exported, Form
from palimpsest.session.sharing.atif_export import session_trajectory
from palimpsest.session.sharing.share_page import (
    Attachments,
    clean_json,
    facts_of,
    messages_of,
    page_html,
    text_cleaner,
)
from palimpsest.session.sharing.visible_state import visible_session
from palimpsest.store.exchange.json_export import export_json, export_storage, readable_session
from palimpsest.store.interface import Store
from palimpsest.tools.file_access.paths import native_name, protection_of
from palimpsest.transcript.errors import StorageFailed, UserError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import FilePart, ToolCompleted, ToolPart
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.strings.relative_paths import PROTECTED_FOLDERS, comparable_names
from palimpsest.transcript.values import Density

ENDING_BY_FORM: Mapping[str, str] = {
    "md": ".md",
    "ipynb": ".ipynb",
    "json": ".json",
    "html": ".html",
    "opencode": "-opencode",
    "atif": ".atif.json",
}
FORM_BY_OTHER_NAME = {"markdown": "md", "notebook": "ipynb", "page": "html", "htm": "html"}
_MAX_NAME_CHARS = 60
MAX_PATH_CHARS = 300
"""Maximum characters of a path in a sentence about it."""


def form_of(format_name: str) -> Form | None:
    """Return the format that a word or a file suffix names; None for an unknown one."""
    name = FORM_BY_OTHER_NAME.get(format_name.lower().lstrip("."), format_name.lower().lstrip("."))
    return name if name in FORMS else None  # type: ignore[return-value]  # the names are the literals


def export_session(
    store: Store,
    session_id: str,
    form: Form | None,
    path: str | Path | None,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    outer_folder: Path | None = None,
    prompts: Prompts = "markdown",
    density: Density = "quiet",
) -> Exported:
    """Write a session to a new file and return its path, format and size.

    Without a path it is written to ``cwd`` and named after the session's title. ``outer_folder`` is the
    folder that the file must be in, for requests that do not come from the user at this computer. Raises
    UserError with one sentence, also when the file exists.
    """
    format_name = form or (form_of(Path(path).suffix) if path is not None else None) or "md"
    _, session = readable_session(store, session_id)
    target = cwd if path is None else Path(path)  # also for the error message about an invalid path
    try:
        target = _target_path(path, format_name, session, cwd, outer_folder)
        if format_name == "opencode":
            remove_keys = scrubber(environment)
            export_storage(store, session_id, target, clean_json(remove_keys))
            size = sum(file.stat().st_size for file in target.rglob("*.json"))
        else:
            pieces = _export_pieces(store, session_id, format_name, environment, prompts, density)
            size = _write_file(target, pieces)
    except FileExistsError:
        raise UserError(f"{str(target)!r} is there already; name another file.") from None
    except (OSError, ValueError) as error:  # a null character in the name raises ValueError
        name = one_line(str(target), MAX_PATH_CHARS)
        if isinstance(error, OSError):
            raise StorageFailed(f"{disk_reason(error)}: {name!r} cannot be written.") from error
        raise StorageFailed(f"{name!r} cannot be written: {error}.") from error
    return Exported(target, format_name, size)


def _target_path(
    path: str | Path | None, form: Form, session: SessionInfo, cwd: Path, outer_folder: Path | None
) -> Path:
    if path is None:
        return _unused_path(cwd, _file_name(session), ENDING_BY_FORM[form])
    target = cwd / home_path(native_name(str(path)))
    target = target.parent.resolve() / target.name
    if PROTECTED_FOLDERS & set(comparable_names(str(target))):
        raise UserError(
            f"{str(target)!r} lies in a folder that holds the record of the sessions, or git's own; name another place."
        )
    real_outer_folder = outer_folder.resolve() if outer_folder is not None else None
    real_path = target.resolve() if real_outer_folder is not None else target
    if real_outer_folder is not None and not real_path.is_relative_to(real_outer_folder):
        raise UserError(f"{str(target)!r} is outside the project; name a file inside it.")
    if target.is_dir() and form != "opencode":
        return _unused_path(target, _file_name(session), ENDING_BY_FORM[form])
    if real_outer_folder is not None and protection_of(
        real_path.relative_to(real_outer_folder).as_posix()
    ):
        raise UserError(f"{str(target)!r} is a protected file; name another.")
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {str(target.parent)!r}; make it first, or name another."
        )
    return target


def _unused_path(folder: Path, name: str, suffix: str) -> Path:
    """Return the first name that does not exist yet."""
    numbered_names = (f"{name}-{number}" for number in itertools.count(2))
    names = itertools.chain([name], numbered_names)
    paths = (folder / native_name(f"{candidate_name}{suffix}") for candidate_name in names)
    return next(path for path in paths if not path.exists())


def _file_name(session: SessionInfo) -> str:
    stem = re.sub(r"[^\w]+", "-", session.title.lower()).strip("-_")
    return stem[:_MAX_NAME_CHARS].strip("-_") or session.id


def _write_file(path: Path, pieces: Iterable[str]) -> int:
    """Write a new file and return its size; a file that cannot be finished is deleted."""
    file = path.open("x", encoding="utf-8", errors="replace")
    try:
        with file:  # buffered text may only be written when the file is closed
            for piece in pieces:
                file.write(piece)
    except BaseException:
        path.unlink()
        raise
    return path.stat().st_size


def _export_pieces(
    store: Store,
    session_id: str,
    form: Form,
    environment: Mapping[str, str],
    prompts: Prompts,
    density: Density,
) -> Iterator[str]:
    match form:
        case "html":
            return page_html(store, session_id, environment, density)
        case "json":
            return export_json(store, session_id, clean_json(scrubber(environment)))
        case "atif":
            return _trajectory_pieces(store, session_id, environment)
        case "ipynb":
            return _notebook_pieces(store, session_id, environment, prompts, density)
        case _:
            return _markdown_pieces(store, session_id, environment, density)


def _trajectory_pieces(
    store: Store, session_id: str, environment: Mapping[str, str]
) -> Iterator[str]:
    clean = clean_json(scrubber(environment))
    yield json.dumps(clean(session_trajectory(store, session_id)), indent=2) + "\n"


def _notebook_pieces(
    store: Store,
    session_id: str,
    environment: Mapping[str, str],
    prompts: Prompts,
    density: Density,
) -> Iterator[str]:
    state, session = visible_session(store, session_id)
    clean = text_cleaner(environment)
    document = notebook(
        session.title,
        facts_of(session, state),
        messages_of(store, state),
        scrub=clean,
        embed=Attachments(store, clean).embed_file,
        notes=OutlineNotes(decisions=state.decisions, answers=state.replies),
        prompts=prompts,
        density=density,
        metadata={"session": session.id},
    )
    yield json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _markdown_pieces(
    store: Store, session_id: str, environment: Mapping[str, str], density: Density
) -> Iterator[str]:
    state, session = visible_session(store, session_id)
    clean = text_cleaner(environment)
    yield f"# {escape_inline(clean(session.title)) or 'Session'}\n\n"
    for key, value in facts_of(session, state):
        yield f"- {escape_inline(key)}: {escape_inline(clean(value))}\n"
    notes = OutlineNotes(decisions=state.decisions, answers=state.replies)
    for turn in in_turns(messages_of(store, state), NOTEBOOK_CAPS):
        attachment_names: list[str] = []
        messages = _collect_attachments(turn, attachment_names)
        turn_text = render_turn(messages, scrub=clean, notes=notes, density=density, is_whole=True)
        if turn_text:
            yield f"\n{turn_text}\n"
        for name in attachment_names:
            yield f"\n*▤ {escape_inline(clean(name))} is not in this file.*\n"


def _collect_attachments(
    turn: Iterable[NumberedMessage], attachment_names: list[str]
) -> Iterator[NumberedMessage]:
    """Yield a turn's messages, and add the names of their attachments to ``attachment_names``."""
    for numbered_message in turn:
        attachment_names += _attachment_names(numbered_message[0])
        yield numbered_message


def _attachment_names(message: Message) -> Iterator[str]:
    """Yield the names of attachments, which Markdown cannot hold."""
    for part in message.parts:
        if isinstance(part, FilePart):
            yield part.filename or "an attachment"
        elif isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
            for attachment in part.state.attachments:
                yield attachment.filename or "a figure"
