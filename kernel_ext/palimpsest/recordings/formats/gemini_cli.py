"""Read chats of Gemini CLI: ``session-*.json``, and ``.jsonl`` with updates of earlier records.

The chats of subagents are in the folder beside the chat whose name is the session's id; a call contains its subagent's
id. In the line format a record replaces an earlier one with its id, so an answer is yielded when the next message
begins. ``$rewindTo`` reverts messages; ``$set`` with messages is the history after the program masked results or
compressed the history. Input tokens include cached ones; thoughts are counted beside the output.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.printed_streams.gemini_stream import (
    FORMAT,
    gemini_usage,
    is_printed_by_gemini,
    printed_chat,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue, fingerprint, media_at
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    TitleRead,
    UsageRead,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import (
    head_of,
    json_field,
    json_lines,
    json_objects,
    report_beside,
)
from palimpsest.transcript.errors import UserError

SUBAGENT_KIND = "subagent"
"""Value of a field in the head of a subagent's chat."""
MAX_SUBAGENTS = 200
"""Maximum subagents that are read for one chat."""
FOLDER_NAME_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
"""Pattern of session ids that the program uses unchanged as a folder's name."""
SENT_TYPES = {"user", "gemini"}
"""Types of records that are sent; ``info``, ``error`` and ``warning`` are for the user only."""
FAILED_STATUSES = {"error", "cancelled"}
PROGRAM_TEXT = (
    "<session_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
)
"""Beginnings of texts that the program wrote as user messages."""
MAX_HEAD_BYTES = 2_000
"""Maximum bytes at a file's beginning that hold the head of a chat."""
MASK_RULE = "gemini.mask"
NO_REQUEST_SENTENCE = "The program put this answer into the history; no request made it."
CHANGED_SENTENCE = "The text of this message was changed after it had been recorded."


class GeminiCliImporter:
    """Reads one chat."""

    name = FORMAT
    title = "Gemini CLI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with the head of a chat, or with what the program printed of one."""
        return _is_chat(head) or is_printed_by_gemini(head)

    def read_alone(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a chat, or the printed sessions."""
        head = head_of(path)
        if _is_chat(head):
            yield from _chat_values(path, _GeminiChat(path.parent.name), report)
        else:
            yield from printed_chat(path, head, report)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a chat, then its subagents; the messages of a single document are read like lines."""
        if not _is_chat(head_of(path)):
            yield from self.read_alone(path, report)
            return
        chat = _GeminiChat(path.parent.name)
        yield from _chat_values(path, chat, report)
        for file in _subagent_files(path, chat, report):
            subagent = _GeminiChat(file.parent.name)
            file_report = report_beside(report, file.name)
            try:
                yield from _chat_values(file, subagent, file_report)
            except (OSError, UserError):
                file_report("", "It cannot be read.")


def _is_chat(head: Head) -> bool:
    beginning = head.start[:MAX_HEAD_BYTES].lstrip()
    return (
        beginning.startswith(b"{") and b'"sessionId"' in beginning and b'"projectHash"' in beginning
    )


def _chat_values(path: Path, chat: "_GeminiChat", report: Report) -> Iterator[Recorded]:
    lines = ((f"line {number}", record) for number, record in json_lines(path, report))
    for place, record in lines if _has_line_format(path) else _document_records(path, report):
        yield from chat.read_record(record, place, report)
    yield from chat.finish()
    if not chat.has_begun:
        raise UserError(f"{str(path)!r} holds no chat of Gemini CLI.")


def _subagent_files(path: Path, chat: "_GeminiChat", report: Report) -> Iterator[Path]:
    """Yield the chats of a session's subagents at all levels, which are in one folder; links are left out."""
    folder = path.parent / chat.session_id
    if chat.is_subagent or not FOLDER_NAME_ID.fullmatch(chat.session_id):
        return
    if folder.is_symlink() or not folder.is_dir():
        return
    files = sorted(file for file in folder.iterdir() if file.suffix in (".json", ".jsonl"))
    if len(files) > MAX_SUBAGENTS:
        report("", f"Only the first {MAX_SUBAGENTS} of its subagents were read.")
    for file in files[:MAX_SUBAGENTS]:
        try:
            is_chat = not file.is_symlink() and _is_chat(head_of(file))
        except UserError:
            is_chat = False
        if is_chat:
            yield file
        else:
            report(file.name, "It is no chat and was left out.")


def _has_line_format(path: Path) -> bool:
    """Return whether the first line is a whole object, a header without messages."""
    first, newline, _ = head_of(path).start.partition(b"\n")
    return bool(newline) and first.strip().endswith(b"}") and b'"messages"' not in first


def _document_records(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    fields = ("sessionId", "startTime", "kind")
    yield "head", JsonValue({field_name: json_field(path, field_name).raw for field_name in fields})
    yield from json_objects(path, "messages.item", report, "message")
    if summary := json_field(path, "summary").raw:
        yield "summary", JsonValue({"$set": {"summary": summary}})


@dataclass(slots=True)
class _GeminiChat:
    """Reads the records of one chat in their order."""

    folder_name: str
    """Name of the chat's folder; for a subagent, the id of the session that started it."""
    has_begun: bool = False
    session_id: str = ""
    is_subagent: bool = False
    history_ids: dict[str, None] = field(default_factory=dict)
    """Ids of the messages in the history, in order."""
    yielded_messages: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    """The fingerprint of each yielded message's content, and whether its tokens were reported, by its id."""
    result_fingerprints: dict[str, bytes] = field(default_factory=dict)
    """The fingerprint of each call's result in the history."""
    unmasked_fingerprints: dict[str, bytes] = field(default_factory=dict)
    """The fingerprint of each call's result before it was masked."""
    pending_answer: JsonValue = NO_VALUE
    """An answer that later records may complete."""
    record_count: int = 0

    def read_record(self, record: JsonValue, place: str, report: Report) -> Iterator[Recorded]:
        self.record_count += 1
        if not self.has_begun:
            self.has_begun = True
            yield self._begin_session(record, place)
        if isinstance(rewind_target := record.get("$rewindTo"), str):
            yield from self.finish()
            yield from self._rewind(rewind_target)
        elif isinstance(record.get("$set"), dict):
            changes = record.at("$set")
            if isinstance(changes.get("messages"), list):
                yield from self.finish()
                yield from self._replace_history(changes)
            if title := changes.text("summary"):
                yield TitleRead(title)
        elif "id" in record and record.text("type") in SENT_TYPES:
            yield from self._read_message(record)
        elif "id" in record and not isinstance(record.get("type"), str):
            report(place, "It is a message of no known kind and was left out.")

    def _begin_session(self, record: JsonValue, place: str) -> SessionBegin:
        self.session_id = record.id("sessionId") or place
        self.is_subagent = record.get("kind") == SUBAGENT_KIND
        is_in_parent_folder = self.is_subagent and self.folder_name not in (
            "",
            "chats",
            self.session_id,
        )
        return SessionBegin(
            self.session_id,
            FORMAT,
            parent=self.folder_name if is_in_parent_folder else None,
            directory=JsonValue(next(iter(record.list_at("directories")), "")).text(),
            created=record.milliseconds("startTime") or record.milliseconds("timestamp"),
        )

    def _read_message(self, record: JsonValue) -> Iterator[Recorded]:
        message_id = record.id("id") or f"m{self.record_count}"
        if self.pending_answer and self.pending_answer.id("id") == message_id:
            self.pending_answer = record
            return
        yield from self.finish()
        if message_id in self.yielded_messages:
            yield from self._message_updates(message_id, record)
        elif record.get("type") == "gemini":
            self.pending_answer = record
        else:
            yield from self._user_message(message_id, record)

    def finish(self) -> Iterator[Recorded]:
        """Yield the answer that no later record completes."""
        if record := self.pending_answer:
            self.pending_answer = NO_VALUE
            message_id = record.id("id") or f"a{self.record_count}"
            self._add_to_history(message_id, record)
            calls = record.objects("toolCalls")
            yield MessageRead(
                message_id,
                "assistant",
                (*_thoughts(record), *_content(record.at("content")), *map(_call, calls)),
                record.milliseconds("timestamp"),
                model=f"gemini/{model}" if (model := record.text("model")) else "",
                usage=gemini_usage(record.at("tokens")),
                finish="tool-calls" if calls else "stop",
            )
            for call in calls:
                if call.get("result") is not None or call.text("status") in FAILED_STATUSES:
                    yield self._result(call)

    def _user_message(self, message_id: str, record: JsonValue) -> Iterator[Recorded]:
        if parts := tuple(_content(record.at("content"))):
            self._add_to_history(message_id, record)
            yield MessageRead(
                message_id,
                "user",
                parts,
                record.milliseconds("timestamp"),
                by_program=text_of_parts(parts).lstrip().startswith(PROGRAM_TEXT),
            )

    def _add_to_history(self, message_id: str, record: JsonValue) -> None:
        self.history_ids[message_id] = None
        self._store_fingerprint(message_id, record)

    def _store_fingerprint(self, message_id: str, record: JsonValue) -> None:
        content_fingerprint = fingerprint(record.as_text("content"))
        self.yielded_messages[message_id] = content_fingerprint, bool(record.get("tokens"))

    def _result(self, call: JsonValue) -> ResultRead:
        call_id, output = call.id("id"), _output(call.at("result"))
        self.unmasked_fingerprints[call_id] = self.result_fingerprints[call_id] = fingerprint(
            output
        )
        return ResultRead(
            call_id,
            output,
            is_error=call.text("status") in FAILED_STATUSES,
            ended=call.milliseconds("timestamp"),
            media=media_of(_content(call.at("result"))),
            session=call.id("agentId") or None,
        )

    def _message_updates(self, message_id: str, record: JsonValue) -> Iterator[Recorded]:
        """Yield the usage, results or changes that a later record adds to a message."""
        former_fingerprint, had_tokens = self.yielded_messages[message_id]
        usage = gemini_usage(record.at("tokens"))
        if usage and not had_tokens:
            yield UsageRead(message_id, usage)
        yield from self._changed_results(record)
        if fingerprint(record.as_text("content")) != former_fingerprint:
            yield GapRead(
                CHANGED_SENTENCE, message=message_id, chars=len(record.as_text("content"))
            )
        self._add_to_history(message_id, record)

    def _changed_results(self, record: JsonValue) -> Iterator[Recorded]:
        for call in record.objects("toolCalls"):
            call_id, output = call.id("id"), _output(call.at("result"))
            if call_id not in self.unmasked_fingerprints:
                if call.get("result") is not None:
                    yield self._result(call)
            elif (output_fingerprint := fingerprint(output)) != self.result_fingerprints[call_id]:
                self.result_fingerprints[call_id] = output_fingerprint
                is_restored = output_fingerprint == self.unmasked_fingerprints[call_id]
                yield ReducedRead(
                    call_id, "" if is_restored else output, MASK_RULE, restored=is_restored
                )

    def _rewind(self, message_id: str) -> Iterator[Recorded]:
        """Yield the removal of a message and of those after it, or of all where the message is not in the history."""
        removed_ids = list[str]()
        while self.history_ids and message_id not in removed_ids[-1:]:
            removed_ids.append(self.history_ids.popitem()[0])
        if removed_ids:
            yield RemovedRead(tuple(reversed(removed_ids)))

    def _replace_history(self, changes: JsonValue) -> Iterator[Recorded]:
        """Take a new history, and yield what it changes: masked results, or a summary of removed messages."""
        entry_by_id = {
            message_id: entry
            for entry in changes.objects("messages")
            if entry.text("type") in SENT_TYPES and (message_id := entry.id("id"))
        }
        removed_ids = tuple(m for m in self.history_ids if m not in entry_by_id)
        added_entries = [
            entry for message_id, entry in entry_by_id.items() if message_id not in self.history_ids
        ]
        entries_with_content = [
            entry for entry in added_entries if any(_content(entry.at("content")))
        ]
        summary = next(
            (entry for entry in entries_with_content if entry.get("type") == "user"), NO_VALUE
        )
        for entry in entry_by_id.values():
            yield from self._changed_results(entry)
        if removed_ids:
            yield CompactionRead(
                message_id := summary.id("id") or f"c{self.record_count}",
                text_of_parts(_content(summary.at("content"))),
                replaced_messages=removed_ids,
                created=changes.milliseconds("lastUpdated"),
            )
            self._store_fingerprint(message_id, summary)
        for entry in entries_with_content:
            message_id = entry.id("id")
            if entry is summary and removed_ids:
                continue
            if entry.get("type") == "user":
                yield from self._user_message(message_id, entry)
            else:
                self._add_to_history(message_id, entry)
                yield GapRead(NO_REQUEST_SENTENCE, chars=len(entry.as_text("content")))
        self.history_ids = dict.fromkeys(
            message_id
            for message_id in entry_by_id
            if message_id in self.yielded_messages or message_id in self.history_ids
        )


def _thoughts(record: JsonValue) -> Iterator[Thinking]:
    """Yield the thoughts of an answer: as the program sums them up, else as parts of its content."""
    summaries = record.objects("thoughts")
    for summary in summaries:
        lines = (summary.text("subject"), summary.text("description"))
        yield Thinking("\n".join(part for part in lines if part))
    if not summaries:
        for part in record.objects("content"):
            if part.get("thought") is True and (thought_text := part.text("text")):
                yield Thinking(thought_text)


def _call(value: JsonValue) -> Call:
    return Call(value.id("id"), value.text("name") or "unknown", value.tool_input("args"))


def _content(value: JsonValue) -> Iterator[Text | Media]:
    """Yield the parts of a message, without thoughts and without results, which are yielded with their calls."""
    for part in _parts(value):
        if part.get("thought") is True:
            continue
        if text := part.text() or part.text("text"):
            yield Text(text)
        elif data := part.text("inlineData", "data"):
            yield Media(part.text("inlineData", "mimeType") or "image/png", data)
        elif address := part.get("fileData", "fileUri"):
            yield media_at(address, part.text("fileData", "mimeType"))


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    return map(JsonValue, value.raw if isinstance(value.raw, list) else [value.raw])


def _output(value: JsonValue) -> str:
    """Return the text of a result: its function's output or error, and the parts beside it."""
    outputs = list[str]()
    for part in _parts(value):
        if response := part.at("functionResponse", "response"):
            if "output" in response or "error" in response:
                response = response.either("output", "error")
            outputs.append(response.as_text())
        else:
            outputs += [content.text for content in _content(part) if isinstance(content, Text)]
    return "\n".join(outputs)
