"""Write a session as an HTML page that can be shared, keep it up to date, and delete it.

Border: writes below ``.palimpsest/share`` only, under a name that cannot be guessed, readable by the user alone.
Nothing is sent anywhere. ``render/formats/share_page.py`` renders the page; this module chooses its contents.
"""

import base64
import binascii
import datetime
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from palimpsest import __version__
from palimpsest.render.content.outline import OutlineNotes
from palimpsest.render.content.phrases import count, money, size_text
from palimpsest.render.formats.share_page import EmbeddedFile, SharePageHead, share_page
from palimpsest.session.sharing.visible_state import visible_session
from palimpsest.store.exchange.json_export import full_output
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound, StorageFailed, UserError
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage, typed_texts
from palimpsest.transcript.parts import Attachment, FilePart, ToolPart
from palimpsest.transcript.redaction.home_folders import with_home_folders_hidden
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import secret_values
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.values import Density, Usage

SHARE_FOLDER_NAME = "share"
PAGE_NAME = re.compile(r"[A-Za-z0-9_-]{20,80}")
SECRET_BYTES = 16
"""Random bytes of a page's name: 128 bits cannot be guessed. They are written in hex, which has no meaning in Markdown."""
MAX_ATTACHMENT_BYTES = 5_000_000
"""Maximum size of one attachment on the page."""
MAX_ATTACHMENTS_BYTES = 20_000_000
"""Maximum size of all attachments together, so that browsers can open the page."""
MAX_TEXT_CHARS = 40_000
PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
TEXT_TYPES = frozenset(
    {"application/json", "application/xml", "application/x-ndjson", "image/svg+xml"}
)

DISABLED_SENTENCE = "Sharing is switched off here: the setting share is 'disabled'."
IN_MEMORY_SENTENCE = (
    "This kernel keeps its sessions in memory only, so there is no folder for a page; "
    "%agent export html FILE writes it where you say."
)
ABOUT_PAGE = (
    "A copy of one conversation with the Palimpsest agent, as it was on {made}. What was cleared or "
    "summarised for the model is marked, and can be opened here."
)
CLOSING_TEXT = (
    "This page was made by Palimpsest {version} from session {id} on {made}. It is one file, loads nothing "
    "from anywhere and runs no script. What was said in the session since then is not on it."
)
SCRUBBED_TEXT = (
    "What looks like a key was replaced by [redacted], and the names of home folders by ~. This catches "
    "what has the usual shapes: look through the page before you pass it on."
)


def text_cleaner(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that removes keys and the names of home folders from text."""
    values = secret_values(environment)
    home_folders = [environment.get(name, "") for name in ("HOME", "USERPROFILE")]
    homes = tuple(dict.fromkeys(home for home in (str(Path.home()), *home_folders) if home))

    def clean(text: str) -> str:
        return with_home_folders_hidden(scrub(text, values), homes)

    return clean


def clean_json(clean: Callable[[str], str]) -> Callable[[Any], Any]:
    """Return a function that cleans every text in a JSON value, names included."""

    def clean_value(value: Any) -> Any:
        match value:
            case str() if value.startswith("data:") and ";base64," in value:
                return _clean_url(clean(value), clean)
            case str():
                return clean(value)
            case dict():
                return {clean(name): clean_value(inner) for name, inner in value.items()}
            case list() if TEXTLESS_TYPES.issuperset(map(type, value)):
                return value
            case list() | tuple() if STRING_ONLY.issuperset(map(type, value)):
                clean_text_by_text = {text: clean_value(text) for text in dict.fromkeys(value)}
                return [clean_text_by_text[text] for text in value]
            case list() | tuple():
                return [clean_value(inner_value) for inner_value in value]
            case _:
                return value

    return clean_value


TEXTLESS_TYPES = frozenset({int, float, bool, type(None)})
"""Types without text; a long session has millions of such values, in lists."""
STRING_ONLY = frozenset({str})
"""The type of texts; a list of only these often repeats a few, such as the states of items."""


def _clean_url(url: str, clean: Callable[[str], str]) -> str:
    """Return a ``data:`` URL whose content is cleaned too."""
    url_header, _, data = url.partition(",")
    try:
        content = base64.b64decode(data).decode("latin-1")
    except (binascii.Error, ValueError):
        return url
    cleaned = clean(content)
    if cleaned == content:
        return url
    return f"{url_header},{base64.b64encode(cleaned.encode('latin-1')).decode()}"


def share_folder(store: Store) -> Path:
    """Return the folder of the pages; raises UserError where sessions are in memory only, or it is a link."""
    if not isinstance(store, JsonlStore):
        raise UserError(IN_MEMORY_SENTENCE)
    folder = store.layout.root / SHARE_FOLDER_NAME
    if folder.is_symlink():
        raise UserError(f"{str(folder)!r} is a link, so no page is made there; put it away.")
    return folder


def page_path(store: Store, session: SessionInfo) -> Path | None:
    """Return the path of a session's page; None when it is not shared."""
    secret = _secret(session)
    if secret is None or not isinstance(store, JsonlStore):
        return None
    path = share_folder(store) / f"{secret}.html"
    return path if path.is_file() else None


def _secret(session: SessionInfo) -> str | None:
    """Return the secret name of a session's page; None where the record is of another session, as in a fork."""
    share = session.share or {}
    secret = share.get("secret")
    is_valid = isinstance(secret, str) and PAGE_NAME.fullmatch(secret) is not None
    return secret if is_valid and share.get("session") == session.id else None


def make_page(
    store: Store, session: SessionInfo, environment: Mapping[str, str], density: Density = "quiet"
) -> dict[str, Any]:
    """Write a session's page, under its present name if it has one; returns the share record."""
    folder = share_folder(store)
    secret = _secret(session) or secrets.token_hex(SECRET_BYTES)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        write_page(store, session.id, folder / f"{secret}.html", environment, density)
    except OSError as error:
        raise StorageFailed(
            f"{disk_reason(error)}: the page cannot be written to {str(folder)!r}."
        ) from error
    url = f".palimpsest/{SHARE_FOLDER_NAME}/{secret}.html"
    return {"secret": secret, "url": url, "session": session.id}


def remove_page(store: Store, session: SessionInfo) -> bool:
    """Delete a session's page; returns False when there was none."""
    path = page_path(store, session)
    if path is None:
        return False
    path.unlink(missing_ok=True)
    return True


def write_page(
    store: Store,
    session_id: str,
    path: Path,
    environment: Mapping[str, str],
    density: Density = "quiet",
) -> None:
    """Write the page to a file that only the user can read; readers see the old page or the new one."""
    scratch_path = path.with_name(f".{secrets.token_hex(8)}.tmp")
    fd = os.open(scratch_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
            for piece in page_html(store, session_id, environment, density):
                file.write(piece)
        scratch_path.replace(path)
    finally:
        scratch_path.unlink(missing_ok=True)


def page_html(
    store: Store, session_id: str, environment: Mapping[str, str], density: Density = "quiet"
) -> Iterator[str]:
    """Yield the page of a session in pieces; only one message at a time, and the view of one turn, are in memory."""
    state, session = visible_session(store, session_id)
    clean = text_cleaner(environment)
    written_at = _date_and_time(int(datetime.datetime.now(tz=datetime.UTC).timestamp() * 1000))
    survey = _survey(state)
    attachments = Attachments(store, clean)

    def closing_lines() -> Sequence[str]:
        origin = CLOSING_TEXT.format(version=__version__, id=session.id, made=written_at)
        left_out = f"Attachments that are not on this page: {attachments.left_out_count}."
        return (
            [origin, SCRUBBED_TEXT, left_out]
            if attachments.left_out_count
            else [origin, SCRUBBED_TEXT]
        )

    return share_page(
        SharePageHead(
            title=session.title,
            description=ABOUT_PAGE.format(made=written_at),
            summary=session.about,
            facts=(*_facts(session, survey), ("This page", written_at)),
            todos=state.todos,
            prompts=survey.prompts,
        ),
        messages_of(store, state),
        scrub=clean,
        embed=attachments.embed_file,
        time_text=_date_and_time,
        notes=OutlineNotes(decisions=state.decisions, answers=state.replies),
        density=density,
        closing_lines=closing_lines,
    )


@dataclass(slots=True)
class _Survey:
    """Facts about all messages of a session, for the head of a page."""

    prompts: list[str] = field(default_factory=list)
    models: dict[str, None] = field(default_factory=dict)
    steps: int = 0
    tokens: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced_count: int = 0
    """Number of answers of unknown price."""
    last_change_ms: int = 0
    """Time of the newest message, in milliseconds since 1970."""


def _survey(state: State) -> _Survey:
    """Collect facts about all messages; only prompts are read whole."""
    survey = _Survey()
    for slot in state.message_slots():
        # An unreadable line is ignored; the readable ones are shown.
        info = slot.info.newest_value(lambda _line, _reason: None)
        if info is None:
            continue
        survey.last_change_ms = max(survey.last_change_ms, info.time.created)
        if isinstance(info, AssistantMessage):
            _add_answer(survey, info)
            continue
        message = state.message(slot.id)
        if message is not None and _is_prompt(message):
            survey.prompts.append(next(filter(str.strip, typed_texts(message)), ""))
    return survey


def _add_answer(survey: _Survey, info: AssistantMessage) -> None:
    survey.models[info.model.id] = None
    survey.steps += 1
    survey.tokens = survey.tokens.plus(info.tokens)
    survey.cost += info.cost or 0
    survey.unpriced_count += info.cost is None
    survey.last_change_ms = max(survey.last_change_ms, info.time.completed or 0)


def _is_prompt(message: Message) -> bool:
    """Return whether the page shows a message as a prompt."""
    if not isinstance(message.info, UserMessage):
        return False
    types = {part.type for part in message.parts}
    if "compaction" in types:
        return False
    return any(map(str.strip, typed_texts(message))) or bool(types & {"file", "agent", "subtask"})


def facts_of(session: SessionInfo, state: State) -> tuple[tuple[str, str], ...]:
    """Return the facts about a session as pairs of label and text; keys and home folders are not removed."""
    about = (("About", session.about),) if session.about else ()
    return (*about, *_facts(session, _survey(state)))


def _facts(session: SessionInfo, survey: _Survey) -> Iterator[tuple[str, str]]:
    """Yield the facts that a page lists below a session's title and summary."""
    tokens = survey.tokens
    yield "Begun", _date_and_time(session.time.created)
    yield "Last change", _date_and_time(max(survey.last_change_ms, session.time.created))
    yield "Model", ", ".join(survey.models) or "none yet"
    yield "Prompts", f"{count(len(survey.prompts))}, answered in {count(survey.steps)} steps"
    cached = f", {count(tokens.cache_read)} of them cached" if tokens.cache_read else ""
    yield "Tokens in", f"{count(tokens.prompt)}{cached}"
    yield "Tokens out", count(tokens.output + tokens.reasoning)
    yield "Cost", _cost(survey)
    if session.notebook:
        yield "Notebook", session.notebook
    if session.directory:
        yield "Folder", session.directory


def _cost(survey: _Survey) -> str:
    if not survey.unpriced_count:
        return money(survey.cost)
    return f"at least {money(survey.cost)}" if survey.cost else money(None)


def messages_of(store: Store, state: State) -> Iterator[Message]:
    """Yield the messages with their long outputs, releasing each afterwards."""
    for slot in state.message_slots():
        message = state.message(slot.id)
        slot.built_message = None
        slot.parts.clear()
        if message is not None:
            parts = tuple(
                full_output(store, part) if isinstance(part, ToolPart) else part
                for part in message.parts
            )
            yield message.model_copy(update={"parts": parts})


class Attachments:
    """Decides which attachments a page contains, within its size limits."""

    def __init__(self, store: Store, clean: Callable[[str], str]) -> None:
        self._store = store
        self._clean = clean
        self._bytes_left = MAX_ATTACHMENTS_BYTES
        self.left_out_count = 0

    def embed_file(self, file: Attachment | FilePart) -> EmbeddedFile:
        """Return how an attachment is shown."""
        name, mime = file.filename or _file_name(file.url), file.mime
        content = self._content(file.url)
        if content is None:
            return self._omitted_file(name, mime, self._reason_missing(file.url))
        if len(content) > MAX_ATTACHMENT_BYTES:
            reason = f"{size_text(len(content))} are too many for this page"
            return self._omitted_file(name, mime, reason)
        if len(content) > self._bytes_left:
            return self._omitted_file(name, mime, "this page holds as many attachments as it can")
        if mime.startswith("text/") or mime in TEXT_TYPES:
            return self._embedded_text(name, mime, content)
        text = content.decode("latin-1")
        if self._clean(text) != text:
            return self._omitted_file(name, mime, "it holds what looks like a key or a home folder")
        self._bytes_left -= len(content)
        kind: Literal["picture", "file"] = "picture" if mime in PICTURE_TYPES else "file"
        return EmbeddedFile(kind, name, mime, _data_url(mime, content))

    def _embedded_text(self, name: str, mime: str, content: bytes) -> EmbeddedFile:
        text = self._clean(content.decode("utf-8", "replace"))
        if mime in PICTURE_TYPES:
            self._bytes_left -= len(content)
            return EmbeddedFile("picture", name, mime, _data_url(mime, text.encode()))
        self._bytes_left -= min(len(content), MAX_TEXT_CHARS)
        left_out_chars = len(text) - MAX_TEXT_CHARS
        reason = (
            f"{count(left_out_chars)} more characters are not on this page"
            if left_out_chars > 0
            else ""
        )
        return EmbeddedFile("text", name, mime, text[:MAX_TEXT_CHARS], reason)

    def _content(self, url: str) -> bytes | None:
        if url.startswith("blob:"):
            with suppress(NotFound):
                return self._store.get_blob(url.removeprefix("blob:"))
            return None
        head, comma, data = url.partition(",")
        if not comma or not head.startswith("data:"):
            return None
        if not head.endswith(";base64"):
            return unquote_to_bytes(data)
        with suppress(binascii.Error, ValueError):
            return base64.b64decode(data)
        return None

    def _reason_missing(self, url: str) -> str:
        """Return why an attachment is not with the session, and where it is."""
        if url.startswith(("http://", "https://", "file:")):
            return f"it was not kept with the session; it is at {self._clean(url)[:300]}"
        return "its content is gone"

    def _omitted_file(self, name: str, mime: str, reason: str) -> EmbeddedFile:
        self.left_out_count += 1
        return EmbeddedFile("left-out", name, mime, omission_reason=reason)


def _data_url(mime: str, content: bytes) -> str:
    safe = mime if all(sign.isalnum() or sign in "/+.-" for sign in mime) else "text/plain"
    return f"data:{safe};base64,{base64.b64encode(content).decode()}"


def _file_name(url: str) -> str:
    has_name = not url.startswith(("data:", "blob:"))
    return url.rstrip("/").rpartition("/")[2] if has_name else "attachment"


def _date_and_time(milliseconds: int) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return "unknown"
    return f"{moment:%Y-%m-%d %H:%M} UTC"
