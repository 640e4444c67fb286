"""Read Aider's ``.aider.chat.history.md``, to which each session of a folder is appended.

Each answer is read as a request. The line of tokens below it has its cost and its usage, which Aider rounded. What a
request had besides the chat (system prompt, repository map, files) is not in the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.format_parts.aider_blocks import (
    SESSION_HEADER,
    AiderBlock,
    aider_blocks,
    has_marked_ends,
)
from palimpsest.recordings.message_formats.chat_messages import full_model_name
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import JsonValue, fingerprint, usage_of_whole_prompt
from palimpsest.recordings.reading.reading_budget import MAX_VALUE_BYTES, spend
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    Recorded,
    RemovedRead,
    SessionBegin,
    Text,
    Thinking,
    TotalsRead,
    UniqueGaps,
)
from palimpsest.recordings.reading.sources import file_lines, head_of
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import RecordedTotals
from palimpsest.transcript.values import Usage

AMOUNT_PATTERN = r"(\d[\d,]*(?:\.\d+)?)([kM]?)"
TOKENS_LINE = re.compile(
    rf"Tokens: {AMOUNT_PATTERN} sent(?:, {AMOUNT_PATTERN} cache write)?(?:, {AMOUNT_PATTERN} cache hit)?, {AMOUNT_PATTERN} received\."
)
COST_LINE = re.compile(
    r"Cost: \$(\d[\d,]*(?:\.\d+)?) (?:message|request|send), \$(\d[\d,]*(?:\.\d+)?) session\."
)
VERSION_LINE = re.compile(r"Aider v(\S+)")
MODEL_LINE = re.compile(r"(?:Main model|Models?): (\S+?),?(?: with .*)?")
EFFORT_PATTERN = re.compile(r", reasoning (\w+)")
EDITOR_MODEL_LINE = re.compile(r"Editor model: (\S+)(?: with .*)?")
REASONING_BLOCK = re.compile(r"\s*<(thinking-content-[0-9a-f]{32})>\s*(.*?)\s*</\1>\s*", re.DOTALL)
CLEARED_LINES = frozenset(
    {"All chat history cleared.", "All files dropped and chat history cleared."}
)
COMMAND_PREFIXES = ("/", "!")
SESSION_BYTES = 100_000
"""Bytes of the reading budget that each session costs, since it takes time; a short one has only 1,000 bytes."""
MAX_NUMBER_CHARS = 40
MAX_PRINTED_CHARS = 100_000
"""Maximum characters of Aider's output that are read as a message of the program."""

NO_CONTEXT_SENTENCE = (
    "The system prompt, the repository map, the files in the chat and the outputs that were added to it are sent with "
    "each request, and are not in the recording."
)
WEAK_MODEL_SENTENCE = "Requests for commit messages, and for summaries that Aider makes of a long chat, are not in the recording."
ROUNDED_SENTENCE = (
    "Tokens are as Aider prints them, which is rounded: to hundreds from 1,000 on, and to thousands from 10,000 on. Where "
    "a streamed answer had no usage, they are Aider's own count."
)
NO_USAGE_SENTENCE = "No tokens are recorded of some requests."
BY_PROGRAM_SENTENCE = (
    "What Aider sent here in the user's place is not recorded; what it showed stands in its place."
)
COMMAND_SENTENCE = "The prompt that a command stands for is not in the recording."
EDITOR_SENTENCE = "Requests of the editor model have only this message of the chat."
TOO_LONG_SENTENCE = "An answer is longer than the limit; the rest of it was left out."


class AiderImporter:
    """Reads a history with any number of sessions."""

    name = "aider"
    title = "Aider"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file's first line is the header of a session."""
        return (
            SESSION_HEADER.fullmatch(_decoded_text(head.start).lstrip().split("\n", 1)[0])
            is not None
        )

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each session that has messages."""
        ends_are_marked = has_marked_ends(_decoded_text(head_of(path).start))
        lines = (_decoded_text(line).removesuffix("\r") for _, line in file_lines(path, report))
        used_ids: dict[str, int] = {}
        session = _AiderSession("", used_ids)
        for block in aider_blocks(lines, ends_are_marked=ends_are_marked):
            if block.kind == "start":
                yield from session.end()
                session = _AiderSession(block.text, used_ids)
            else:
                yield from session.read(block)
        yield from session.end()
        if not used_ids:
            raise UserError(f"{str(path)!r} holds no message of Aider.")


def _decoded_text(content: bytes) -> str:
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


@dataclass(slots=True)
class _AiderAnswer:
    """The lines of the answer that is being read."""

    lines: list[str] = field(default_factory=list)
    char_count: int = 0
    is_closed: bool = False
    """Whether other output of Aider followed; the answer's line of tokens may still come."""


class _AiderSession:
    """Reads the blocks of one session."""

    def __init__(self, start_time: str, used_ids: dict[str, int]) -> None:
        """``used_ids`` counts the sessions of the file that have messages, by the ids that their times give them."""
        self._start_time = start_time
        self._used_ids = used_ids
        self._version = ""
        self._model = ""
        self._editor_model = ""
        self._effort: str | None = None
        self._has_begun = False
        self._message_count = 0
        self._prompt: str | None = None
        """The user's prompt, until an answer or the next prompt comes."""
        self._is_for_editor = False
        """Whether the messages are for the editor model, whose prompt is the previous answer."""
        self._context_ids: list[str] = []
        """Ids of the messages that the next request would have."""
        self._is_cleared = False
        """Whether the messages of the context were cleared; they are removed only when another message follows."""
        self._editor_message_ids: list[str] = []
        """Ids of the messages of the editor's turn; later requests do not have them."""
        self._answer_hash = b""
        """Hash of the newest answer's text."""
        self._printed_lines: list[str] = []
        """Lines that Aider printed since the newest answer."""
        self._printed_chars = 0
        self._answer: _AiderAnswer | None = None
        self._gaps = UniqueGaps()

    def read(self, block: AiderBlock) -> Iterator[Recorded]:
        """Yield the values that a block completes."""
        match block.kind:
            case "user":
                yield from self._read_prompt(block.text)
            case "own":
                yield from self._read_aider_line(block.text)
            case "answer":
                yield from self._read_answer_line(block.text)
            case _:
                pass

    def end(self) -> Iterator[Recorded]:
        """Yield the answer or prompt with which the session ends."""
        yield from self._finish_answer()
        yield from self._send_prompt(is_answered=False)

    # Beginning

    def _begin_session(self) -> Iterator[Recorded]:
        """Yield the session's beginning before its first message, and the removal of cleared messages before a later one.

        Aider prints its version and model before the first message.
        """
        if self._is_cleared:
            yield RemovedRead(tuple(self._context_ids))
            self._context_ids, self._is_cleared = [], False
        if self._has_begun:
            return
        self._has_begun = True
        spend(SESSION_BYTES)
        base_id = f"aider-{self._start_time.replace(' ', 'T')}"
        same_time_count = self._used_ids[base_id] = self._used_ids.get(base_id, 0) + 1
        yield SessionBegin(
            id=base_id if same_time_count == 1 else f"{base_id}#{same_time_count}",
            format=AiderImporter.name,
            format_version=self._version,
            created=JsonValue(self._start_time).time_ms(),
            model=self._model,
        )
        yield from (GapRead(NO_CONTEXT_SENTENCE), GapRead(WEAK_MODEL_SENTENCE))

    def _add_message_id(self) -> str:
        self._message_count += 1
        message_id = f"m{self._message_count}"
        self._context_ids.append(message_id)
        if self._is_for_editor:
            self._editor_message_ids.append(message_id)
        return message_id

    # The user and Aider

    def _read_prompt(self, text: str) -> Iterator[Recorded]:
        yield from self.end()
        if self._editor_message_ids:
            yield RemovedRead(tuple(self._editor_message_ids))
            self._context_ids = self._context_ids[: -len(self._editor_message_ids)]
            self._editor_message_ids = []
        self._prompt = text if text != "<blank>" else None
        self._is_for_editor = bool(self._answer_hash) and _text_hash(text) == self._answer_hash
        self._forget_printed()

    def _send_prompt(self, *, is_answered: bool) -> Iterator[Recorded]:
        """Yield the user's prompt as a message, unless it is a command that no answer follows."""
        prompt, self._prompt = self._prompt, None
        is_command = prompt is not None and prompt.startswith(COMMAND_PREFIXES)
        if prompt is None or (is_command and not is_answered):
            return
        yield from self._begin_session()
        message = MessageRead(
            self._add_message_id(), "user", (Text(prompt),), by_program=self._is_for_editor
        )
        yield message
        if is_command:
            yield GapRead(COMMAND_SENTENCE, message=message.id)
        if self._is_for_editor:
            yield GapRead(EDITOR_SENTENCE, message=message.id)

    def _read_aider_line(self, text: str) -> Iterator[Recorded]:
        tokens_match = TOKENS_LINE.match(text)
        if tokens_match:
            yield from self._finish_answer(tokens_match, COST_LINE.search(text))
            return
        if self._answer is not None:
            self._answer.is_closed = True
        if text in CLEARED_LINES:
            yield from self._finish_answer()
            self._is_cleared = bool(self._context_ids)
        self._store_fact(text)
        if self._printed_chars < MAX_PRINTED_CHARS:
            self._printed_lines.append(text[:MAX_PRINTED_CHARS])
            self._printed_chars += len(text)

    def _store_fact(self, text: str) -> None:
        """Store the version that a line of Aider names, or the model and effort of the next requests."""
        if match := VERSION_LINE.fullmatch(text):
            self._version = match[1]
        elif match := MODEL_LINE.fullmatch(text):
            self._model = full_model_name(match[1])
            effort = EFFORT_PATTERN.search(text)
            self._effort = effort[1] if effort else None
        elif match := EDITOR_MODEL_LINE.fullmatch(text):
            self._editor_model = full_model_name(match[1])

    def _forget_printed(self) -> None:
        self._printed_lines, self._printed_chars = [], 0

    # Answers

    def _read_answer_line(self, line: str) -> Iterator[Recorded]:
        if self._answer is None or self._answer.is_closed:
            if not line.strip():
                return
            yield from self._finish_answer()
            self._answer = _AiderAnswer()
        answer = self._answer
        answer.char_count += len(line) + 1
        if answer.char_count > MAX_VALUE_BYTES:
            yield from self._begin_session()
            yield from self._gaps.once(TOO_LONG_SENTENCE)
            return
        answer.lines.append(line)

    def _finish_answer(
        self, tokens_match: re.Match[str] | None = None, cost_match: re.Match[str] | None = None
    ) -> Iterator[Recorded]:
        """Yield the message that is answered, then the newest answer."""
        answer, self._answer = self._answer, None
        if answer is None and tokens_match is None:
            return
        yield from self._begin_session()
        if self._prompt is not None:
            yield from self._send_prompt(is_answered=True)
        elif self._printed_lines and self._message_count:
            message = MessageRead(
                self._add_message_id(),
                "user",
                (Text("\n".join(self._printed_lines)),),
                by_program=True,
            )
            yield message
            yield GapRead(BY_PROGRAM_SENTENCE, message=message.id)
        self._forget_printed()
        model = self._editor_model if self._is_for_editor else ""
        text = "\n".join(answer.lines).strip() if answer else ""
        self._answer_hash = _text_hash(text) if text else b""
        usage, is_rounded = (None, False) if tokens_match is None else _usage_of(tokens_match)
        yield MessageRead(
            self._add_message_id(),
            "assistant",
            _answer_parts(text),
            model=model or self._model,
            effort=self._effort,
            client=self._version,
            usage=usage,
            cost=_dollars(cost_match[1]) if cost_match else None,
            finish="stop",
        )
        if cost_match:
            yield TotalsRead(RecordedTotals(cost=_dollars(cost_match[2])))
        if is_rounded:
            yield from self._gaps.once(ROUNDED_SENTENCE)
        elif usage is None:
            yield from self._gaps.once(NO_USAGE_SENTENCE)


def _text_hash(text: str) -> bytes:
    """Return the hash of a text, without reasoning and without the blanks that the history adds or leaves out."""
    match = REASONING_BLOCK.match(text)
    answer_text = text[match.end() :] if match else text
    return fingerprint("\n".join(line.strip() for line in answer_text.strip().split("\n")))


def _answer_parts(text: str) -> tuple[Text | Thinking, ...]:
    match = REASONING_BLOCK.match(text)
    if match is None:
        return (Text(text),) if text else ()
    answer_text = text[match.end() :]
    return (Thinking(match[2]), *([Text(answer_text)] if answer_text else []))


def _usage_of(tokens_match: re.Match[str]) -> tuple[Usage | None, bool]:
    """Return the usage of a line of tokens, and whether it is rounded.

    With some libraries the sent tokens include the cached ones; cached tokens that exceed the sent ones are added.
    """
    groups = tokens_match.groups()
    pairs = [(groups[index], groups[index + 1]) for index in range(0, len(groups), 2)]
    sent, written, read, received = (_token_count(number, unit) for number, unit in pairs)
    prompt = sent if read + written <= sent else max(sent, written) + read
    usage = usage_of_whole_prompt(prompt, received, cache_read=read, cache_written=written)
    return usage, any(unit for _, unit in pairs)


def _token_count(number: str | None, unit: str | None) -> int:
    scale = {"k": 1_000, "M": 1_000_000}.get(unit or "", 1)
    amount = round(_number(number or "0") * scale)
    return JsonValue(amount).tokens()


def _dollars(number: str) -> float | None:
    return JsonValue(_number(number)).cost()


def _number(text: str) -> float:
    return float(text.replace(",", "")[:MAX_NUMBER_CHARS])
