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
HEADER_LOST = "The header of the session is missing: its folder and first model are not known."
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}</summary>"
)
CUT_SENTENCE = "The output was cut before it was recorded."
ENTRY_PLACE = re.compile("0|[1-9][0-9]{0,17}")


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
        number, first = next(json_lines(path, discard_report), (0, NO_VALUE))
        header = first if _is_header(first) else NO_VALUE
        if not header:
            report(f"line {number}", HEADER_LOST)
        session = header.text("id") or recorded_name(path.stem)
        if header and header.count("version") < FIRST_TREE_VERSION:
            yield from _PiPath(header, PiBranch(session)).read(path, report)
            return
        tree = PiTree(path, report)
        shared_part = shared_beginning(path, self, tree.newest_path())
        for branch in tree.branches(session, report):
            if shared_part is not None and branch.parent_branch is None:
                branch = branch._replace(
                    parent_branch=shared_part.session,
                    branches_at=tree.last_message(shared_part.messages),
                    copied_entries=frozenset(shared_part.messages),
                )
            yield from _PiPath(header, branch).read(path, report)

    def session_beginning(self, path: Path) -> SessionBeginning:
        """Return a session's id, and the first answer's id, time and usage."""
        session = ""
        for entry in first_records(path):
            if _is_header(entry):
                session = entry.text("id")
            message = entry.at("message")
            if message.get("role") == "assistant":
                facts = entry.get("id"), entry.get("timestamp"), message.get("usage")
                return SessionBeginning(session, repr(facts))
        return SessionBeginning(session, "")

    def message_ids(self, path: Path) -> Collection[str]:
        """Return the ids of all entries of a session's file."""
        return PiTree(path, discard_report).entries()


class KeptMessages:
    """For each entry, the first message at or after it, since a compaction names the first entry that it kept.

    Entries have ids, or in older files their places, of which two numbers for each message are all that is held.
    """

    def __init__(self) -> None:
        self._by_id: dict[str, str] = {}
        self._ids_since_message: list[str] = []
        """Entries since the newest message; for each of them the next message is the first one kept."""
        self._begins, self._ends = array("q"), array("q")
        """The places of the first entry and of the last one for which each message is the first one kept."""
        self._names: list[str] = []
        self._begin: int | None = None
        self._end = 0

    def add_entry(self, name: str | int) -> None:
        """Add an entry, by its id or its place."""
        if isinstance(name, str):
            self._ids_since_message.append(name)
            return
        self._end = name
        if self._begin is None:
            self._begin = name

    def add_message(self, message: str) -> None:
        """Add the message of the newest entry."""
        for name in self._ids_since_message:
            self._by_id[name] = message
        self._ids_since_message = []
        if self._begin is not None:
            self._begins.append(self._begin)
            self._ends.append(self._end)
            self._names.append(message)
            self._begin = None

    def first_at(self, entry: Any) -> str | None:
        """Return the first message at or after an entry; None for an unknown one, and where none came yet."""
        name = str(entry)
        if not self._names or not ENTRY_PLACE.fullmatch(name):
            return self._by_id.get(name)
        at = bisect_left(self._ends, int(name))
        return self._names[at] if at < len(self._names) and self._begins[at] <= int(name) else None


class _PiPath:
    """Reads the entries of one path in their order."""

    def __init__(self, header: JsonValue, branch: PiBranch) -> None:
        self._header = header
        self._branch = branch
        self._model = _model(header, "modelId")
        self._effort = header.text("thinkingLevel") or None
        self._count = 0
        self._kept_messages = KeptMessages()

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        yield self._begin_session()
        entries = self._branch.entries
        for index, (number, entry) in enumerate(json_lines(path, report)):
            kind = entry.text("type")
            name = index if entries is None else entry.text("id")
            if kind != "session" and (entries is None or name in entries):
                self._kept_messages.add_entry(name)
                yield from self._entry(entry, kind, f"line {number}", report)

    def _begin_session(self) -> SessionBegin:
        header, branch = self._header, self._branch
        return SessionBegin(
            id=branch.name,
            format="pi",
            format_version=str(header.count("version") or 1) if header else "",
            directory=header.text("cwd"),
            created=header.time_ms("timestamp"),
            model=self._model,
            branch_of=branch.parent_branch,
            branch_at=branch.branches_at,
            copied_messages=branch.copied_entries,
        )

    def _entry(self, entry: JsonValue, kind: str, place: str, report: Report) -> Iterator[Recorded]:
        match kind:
            case "message":
                message = entry.at("message")
                yield from self._message(message, message.get("role"), entry, place, report)
            case "custom_message":
                yield from self._message(entry, "custom", entry, place, report)
            case "branch_summary":
                yield from self._message(entry, "branchSummary", entry, place, report)
            case "compaction":
                yield self._compaction(entry)
            case "model_change":
                self._model = _model(entry, "modelId")
            case "thinking_level_change":
                self._effort = entry.text("thinkingLevel") or None
            case "session_info" if entry.text("name"):
                yield TitleRead(entry.text("name"))
            case "session_info" | "label" | "custom":
                pass  # never sent to the model
            case _:
                report(place, f"It is of the kind {kind!r}, which is not known, and was left out.")

    def _message(
        self, message: JsonValue, role: object, entry: JsonValue, place: str, report: Report
    ) -> Iterator[Recorded]:
        match role:
            case "user":
                parts = texts_and_media(message.get("content"))
                yield self._user_message(entry, parts, message, by_program=False)
            case "assistant":
                yield self._answer(message, entry)
            case "toolResult":
                yield from _result(message, entry)
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

    def _message_id(self, entry: JsonValue) -> str:
        """Return the id of the next message, and store it as the first message after the entries before it."""
        self._count += 1
        name = entry.text("id") or f"m{self._count}"
        self._kept_messages.add_message(name)
        return name

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
            id=self._message_id(entry),
            role="user",
            parts=parts,
            created=_time(message, entry),
            model=self._model,
            effort=self._effort,
            by_program=by_program,
        )

    def _answer(self, message: JsonValue, entry: JsonValue) -> MessageRead:
        usage, cost = _usage(message.at("usage"))
        return MessageRead(
            id=self._message_id(entry),
            role="assistant",
            parts=tuple(content_parts(message.get("content"))),
            created=_time(message, entry),
            completed=entry.time_ms("timestamp"),
            model=_model(message, "model") or self._model,
            effort=self._effort,
            usage=usage,
            cost=cost,
            finish=message.finish("stopReason"),
            error=message.text("errorMessage") or None,
        )

    def _compaction(self, entry: JsonValue) -> CompactionRead:
        self._count += 1
        first_kept = entry.either("firstKeptEntryId", "firstKeptEntryIndex").raw
        return CompactionRead(
            id=entry.text("id") or f"m{self._count}",
            summary=entry.text("summary"),
            keeps_from=self._kept_messages.first_at(first_kept),
            created=entry.time_ms("timestamp"),
            tokens_before=entry.integer("tokensBefore"),
            usage=_usage(entry.at("usage"))[0],
        )


def _is_header(entry: JsonValue) -> bool:
    return entry.get("type") == "session" and isinstance(entry.get("id"), str)


def _model(model: JsonValue, field: str) -> str:
    name = model.text(field)
    return f"{model.text('provider')}/{name}" if name else ""


def _time(message: JsonValue, entry: JsonValue) -> int | None:
    """Return the time of a message; without one, the time at which its entry was recorded."""
    written = message.time_ms("timestamp")
    return written if written is not None else entry.time_ms("timestamp")


def _usage(value: JsonValue) -> tuple[Usage | None, float | None]:
    """Return usage and cost; None for both where all counts are 0, which pi writes where nothing was reported."""
    counts = {
        "input": value.tokens("input"),
        "output": value.tokens("output"),
        "cache_read": value.tokens("cacheRead"),
        "cache_write": value.tokens("cacheWrite"),
    }
    return (Usage(**counts), value.cost("cost", "total")) if any(counts.values()) else (None, None)


def _result(message: JsonValue, entry: JsonValue) -> Iterator[Recorded]:
    call = message.text("toolCallId")
    parts = texts_and_media(message.get("content"))
    details = message.at("details")
    yield ResultRead(
        call=call,
        output=text_of_parts(parts),
        is_error=message.get("isError") is True,
        ended=_time(message, entry),
        media=media_of(parts),
        metadata=details.small_facts(),
    )
    truncation = details.at("truncation")
    if truncation.get("truncated") is True:
        missing_bytes = truncation.count("totalBytes") - truncation.count("outputBytes")
        yield GapRead(CUT_SENTENCE, call=call, chars=missing_bytes if missing_bytes > 0 else None)


def _user_command_text(message: JsonValue) -> str:
    """Return the text that pi sends to the model about a command that the user ran."""
    output = message.text("output")
    lines = [f"Ran `{message.text('command')}`", f"```\n{output}\n```" if output else "(no output)"]
    code = message.get("exitCode")
    if message.get("cancelled"):
        lines.append("\n(command cancelled)")
    elif isinstance(code, int) and code:
        lines.append(f"\nCommand exited with code {code}")
    output_path = message.text("fullOutputPath")
    if message.get("truncated") is True and output_path:
        lines.append(f"\n[Output truncated. Full output: {output_path}]")
    return "\n".join(lines)
