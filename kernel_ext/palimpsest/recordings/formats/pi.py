"""Read sessions of pi, and of OpenClaw, which writes the same files: one JSON object a line, versions 1 to 3.

Since version 2 the lines form a tree: the path to the last line is the session. Branches that end in other
leaves become separate sessions, which include the messages that they share with another path.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from palimpsest.recordings.format_parts.pi_branches import PiBranch, PiTree
from palimpsest.recordings.message_formats.content_blocks import content_parts, texts_and_media
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import (
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    TitleRead,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.shared_beginnings import (
    SessionBeginning,
    first_records,
    shared_beginning,
)
from palimpsest.recordings.reading.sources import discard_report, first_object, json_lines
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import Usage

FIRST_TREE_VERSION = 2
"""The first version whose lines have ids."""
ENTRY_TYPES = frozenset(
    {
        "message",
        "custom_message",
        "branch_summary",
        "compaction",
        "model_change",
        "thinking_level_change",
        "session_info",
        "label",
        "custom",
    }
)
"""Types of the entries of a tree."""
HEADER_LOST_SENTENCE = (
    "The header of the session is missing: its folder and first model are not known."
)
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}</summary>"
)
CUT_SENTENCE = "The output was cut before it was recorded."
ENTRY_NUMBER = re.compile("0|[1-9][0-9]{0,17}")


class PiImporter:
    """Reads sessions of pi and OpenClaw."""

    name = "pi"
    title = "pi"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with the header of a session, or with entries whose header is lost."""
        first_entry = first_object(head)
        if _is_header(first_entry):
            return "timestamp" in first_entry and "cwd" in first_entry
        return (
            first_entry.text("type") in ENTRY_TYPES
            and {"id", "parentId", "timestamp"} <= first_entry.fields().keys()
        )

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session whose path ends in the last line, then the other branches."""
        line_number, first_entry = next(json_lines(path, discard_report), (0, NO_VALUE))
        header = first_entry if _is_header(first_entry) else NO_VALUE
        if not header:
            report(f"line {line_number}", HEADER_LOST_SENTENCE)
        session_id = header.text("id") or recorded_name(path.stem)
        if header and header.count("version") < FIRST_TREE_VERSION:
            yield from _PiPath(header, PiBranch(session_id)).read(path, report)
            return
        tree = PiTree(path, report)
        shared_part = shared_beginning(path, self, tree.newest_path_ids())
        for branch in tree.branches(session_id, report):
            if shared_part is not None and branch.parent_session_id is None:
                branch = branch._replace(
                    parent_session_id=shared_part.session,
                    branches_at=tree.last_message_id(shared_part.messages),
                    copied_ids=frozenset(shared_part.messages),
                )
            yield from _PiPath(header, branch).read(path, report)

    def session_beginning(self, path: Path) -> SessionBeginning:
        """Return a session's id, and the first answer's id, time and usage."""
        session_id = ""
        for entry in first_records(path):
            if _is_header(entry):
                session_id = entry.text("id")
            message = entry.at("message")
            if message.get("role") == "assistant":
                facts = entry.get("id"), entry.get("timestamp"), message.get("usage")
                return SessionBeginning(session_id, repr(facts))
        return SessionBeginning(session_id, "")

    def message_ids(self, path: Path) -> Collection[str]:
        """Return the ids of all entries of a session's file."""
        return PiTree(path, discard_report).entry_ids()


class FirstKeptMessages:
    """For each entry, the first message at or after it, since a compaction names the first entry that it kept.

    Entries have ids; in older files they have places, of which only two numbers are stored for each message.
    """

    def __init__(self) -> None:
        self._message_by_entry: dict[str, str] = {}
        self._ids_since_message: list[str] = []
        """Ids of the entries since the newest message; for each of them the next message is the first one kept."""
        self._first_places, self._last_places = array("q"), array("q")
        """For each message, the places of the first and the last entry for which it is the first one kept."""
        self._message_ids: list[str] = []
        self._pending_first: int | None = None
        self._pending_last = 0
        """The places of the first and the last entry since the newest message."""

    def add_entry(self, id_or_place: str | int) -> None:
        """Add an entry, by its id or its place."""
        if isinstance(id_or_place, str):
            self._ids_since_message.append(id_or_place)
            return
        self._pending_last = id_or_place
        if self._pending_first is None:
            self._pending_first = id_or_place

    def add_message(self, message_id: str) -> None:
        """Add the message of the newest entry."""
        for entry_id in self._ids_since_message:
            self._message_by_entry[entry_id] = message_id
        self._ids_since_message = []
        if self._pending_first is not None:
            self._first_places.append(self._pending_first)
            self._last_places.append(self._pending_last)
            self._message_ids.append(message_id)
            self._pending_first = None

    def first_id_at(self, entry: Any) -> str | None:
        """Return the id of the first message at or after an entry, given by id or place; None where none came yet."""
        entry_text = str(entry)
        if not self._message_ids or not ENTRY_NUMBER.fullmatch(entry_text):
            return self._message_by_entry.get(entry_text)
        index = bisect_left(self._last_places, int(entry_text))
        return (
            self._message_ids[index]
            if index < len(self._message_ids) and self._first_places[index] <= int(entry_text)
            else None
        )


class _PiPath:
    """Reads the entries of one path in their order."""

    def __init__(self, header: JsonValue, branch: PiBranch) -> None:
        self._header = header
        self._branch = branch
        self._model = _model_name(header, "modelId")
        self._effort = header.text("thinkingLevel") or None
        self._message_count = 0
        self._kept_messages = FirstKeptMessages()

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        yield self._session_begin()
        entry_ids = self._branch.entry_ids
        for index, (number, entry) in enumerate(json_lines(path, report)):
            entry_type = entry.text("type")
            id_or_place = index if entry_ids is None else entry.text("id")
            if entry_type != "session" and (entry_ids is None or id_or_place in entry_ids):
                self._kept_messages.add_entry(id_or_place)
                yield from self._read_entry(entry, entry_type, f"line {number}", report)

    def _session_begin(self) -> SessionBegin:
        header, branch = self._header, self._branch
        return SessionBegin(
            id=branch.session_id,
            format="pi",
            format_version=str(header.count("version") or 1) if header else "",
            directory=header.text("cwd"),
            created=header.time_ms("timestamp"),
            model=self._model,
            branch_of=branch.parent_session_id,
            branch_at=branch.branches_at,
            copied_messages=branch.copied_ids,
        )

    def _read_entry(
        self, entry: JsonValue, entry_type: str, place: str, report: Report
    ) -> Iterator[Recorded]:
        match entry_type:
            case "message":
                message = entry.at("message")
                yield from self._read_message(message, message.get("role"), entry, place, report)
            case "custom_message":
                yield from self._read_message(entry, "custom", entry, place, report)
            case "branch_summary":
                yield from self._read_message(entry, "branchSummary", entry, place, report)
            case "compaction":
                yield self._compaction(entry)
            case "model_change":
                self._model = _model_name(entry, "modelId")
            case "thinking_level_change":
                self._effort = entry.text("thinkingLevel") or None
            case "session_info" if entry.text("name"):
                yield TitleRead(entry.text("name"))
            case "session_info" | "label" | "custom":
                pass  # never sent to the model
            case _:
                report(
                    place,
                    f"It is of the kind {entry_type!r}, which is not known, and was left out.",
                )

    def _read_message(
        self, message: JsonValue, role: object, entry: JsonValue, place: str, report: Report
    ) -> Iterator[Recorded]:
        match role:
            case "user":
                parts = texts_and_media(message.get("content"))
                yield self._user_message(entry, parts, message, by_program=False)
            case "assistant":
                yield self._answer(message, entry)
            case "toolResult":
                yield from _result_values(message, entry)
            case "bashExecution":
                if not message.get("excludeFromContext"):
                    yield self._user_message(entry, (Text(_user_command_text(message)),), message)
            case "custom" | "hookMessage":
                yield self._user_message(entry, texts_and_media(message.get("content")), message)
            case "branchSummary":
                summary = BRANCH_SUMMARY.format(message.text("summary"))
                yield self._user_message(entry, (Text(summary),), message)
            case _:
                report(place, f"It is by {role!r}, which is not known, and was left out.")

    def _add_message(self, entry: JsonValue) -> str:
        """Return the id of the next message, and store it as the first message after the entries before it."""
        self._message_count += 1
        message_id = entry.text("id") or f"m{self._message_count}"
        self._kept_messages.add_message(message_id)
        return message_id

    def _user_message(
        self,
        entry: JsonValue,
        parts: tuple[Text | Media, ...],
        message: JsonValue,
        *,
        by_program: bool = True,
    ) -> MessageRead:
        """Return a user message, which pi or an extension of it may have written."""
        return MessageRead(
            id=self._add_message(entry),
            role="user",
            parts=parts,
            created=_time_ms(message, entry),
            model=self._model,
            effort=self._effort,
            by_program=by_program,
        )

    def _answer(self, message: JsonValue, entry: JsonValue) -> MessageRead:
        usage, cost = _usage(message.at("usage"))
        return MessageRead(
            id=self._add_message(entry),
            role="assistant",
            parts=tuple(content_parts(message.get("content"))),
            created=_time_ms(message, entry),
            completed=entry.time_ms("timestamp"),
            model=_model_name(message, "model") or self._model,
            effort=self._effort,
            usage=usage,
            cost=cost,
            finish=message.finish("stopReason"),
            error=message.text("errorMessage") or None,
        )

    def _compaction(self, entry: JsonValue) -> CompactionRead:
        self._message_count += 1
        first_kept_entry = entry.either("firstKeptEntryId", "firstKeptEntryIndex").raw
        return CompactionRead(
            id=entry.text("id") or f"m{self._message_count}",
            summary=entry.text("summary"),
            keeps_from=self._kept_messages.first_id_at(first_kept_entry),
            created=entry.time_ms("timestamp"),
            tokens_before=entry.integer("tokensBefore"),
            usage=_usage(entry.at("usage"))[0],
        )


def _is_header(entry: JsonValue) -> bool:
    return entry.get("type") == "session" and isinstance(entry.get("id"), str)


def _model_name(entry: JsonValue, field: str) -> str:
    name = entry.text(field)
    return f"{entry.text('provider')}/{name}" if name else ""


def _time_ms(message: JsonValue, entry: JsonValue) -> int | None:
    """Return the time of a message; without one, the time at which its entry was recorded."""
    written_ms = message.time_ms("timestamp")
    return written_ms if written_ms is not None else entry.time_ms("timestamp")


def _usage(value: JsonValue) -> tuple[Usage | None, float | None]:
    """Return usage and cost; None for both where all counts are 0, which pi writes where nothing was reported."""
    counts = {
        "input": value.tokens("input"),
        "output": value.tokens("output"),
        "cache_read": value.tokens("cacheRead"),
        "cache_write": value.tokens("cacheWrite"),
    }
    return (Usage(**counts), value.cost("cost", "total")) if any(counts.values()) else (None, None)


def _result_values(message: JsonValue, entry: JsonValue) -> Iterator[Recorded]:
    call_id = message.text("toolCallId")
    parts = texts_and_media(message.get("content"))
    details = message.at("details")
    yield ResultRead(
        call=call_id,
        output=text_of_parts(parts),
        is_error=message.get("isError") is True,
        ended=_time_ms(message, entry),
        media=media_of(parts),
        metadata=details.small_facts(),
    )
    truncation = details.at("truncation")
    if truncation.get("truncated") is True:
        missing_bytes = truncation.count("totalBytes") - truncation.count("outputBytes")
        yield GapRead(
            CUT_SENTENCE, call=call_id, chars=missing_bytes if missing_bytes > 0 else None
        )


def _user_command_text(message: JsonValue) -> str:
    """Return the text that pi sends to the model about a command that the user ran."""
    output = message.text("output")
    lines = [f"Ran `{message.text('command')}`", f"```\n{output}\n```" if output else "(no output)"]
    exit_code = message.get("exitCode")
    if message.get("cancelled"):
        lines.append("\n(command cancelled)")
    elif isinstance(exit_code, int) and exit_code:
        lines.append(f"\nCommand exited with code {exit_code}")
    output_path = message.text("fullOutputPath")
    if message.get("truncated") is True and output_path:
        lines.append(f"\n[Output truncated. Full output: {output_path}]")
    return "\n".join(lines)
