"""Read sessions of Cline's SDK: ``<id>.messages.json``, with the state of its last compaction beside it.

The file contains the messages of the whole session; input tokens include cached ones. The messages that are sent after a
compaction are in ``<id>.compaction.json``, which is read where a session's folder is imported: messages that it repeats
stayed, all others in the covered part were replaced. Subagents and teammates have files in the folder of the session
that started them, and refer to it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.recordings.message_formats.content_blocks import block_part
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import (
    NO_VALUE,
    JsonValue,
    fingerprint,
    media_at,
    usage_of_whole_prompt,
)
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessagePart,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    SessionBegin,
    Text,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import json_document, json_field, json_items
from palimpsest.transcript.errors import UserError

MESSAGES_SUFFIX = ".messages.json"
COMPACTION_SUFFIX = ".compaction.json"
SUMMARY_KINDS = {"compaction", "compaction_summary"}
"""Kinds of messages that are a compaction's summary, made without a model or with one."""
SUBAGENT_KINDS = frozenset({"subagent", "teammate"})
"""Values of the field ``agent`` in files of sessions that another session started."""
MAX_SEARCHED_BYTES = 4_096
"""Maximum bytes at a file's beginning in which the names of its fields are searched."""
BEFORE_RECORDING_SENTENCE = "Earlier messages were replaced by a summary before this was recorded."
COMPACTION_RULE = "cline.compaction"
_DOCUMENT_START = re.compile(rb'\A\s*\{\s*"version"\s*:\s*\d+\s*,')


class ClineImporter:
    """Reads a session's messages, or a session's folder."""

    name = "cline"
    title = "Cline"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a folder contains a session's messages, or a file begins like one."""
        if head.names:
            return any(file.endswith(MESSAGES_SUFFIX) for file in head.names)
        beginning = head.start[:MAX_SEARCHED_BYTES]
        return bool(_DOCUMENT_START.match(beginning)) and all(
            name in beginning for name in (b'"sessionId"', b'"agent"', b'"messages"')
        )

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return the files with messages, with the state of a compaction, and with a session's settings."""
        return {
            name.removesuffix(MESSAGES_SUFFIX) + ending
            for name in names
            if name.endswith(MESSAGES_SUFFIX)
            for ending in (MESSAGES_SUFFIX, COMPACTION_SUFFIX, ".json")
        }

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a file, or the sessions of a folder."""
        if not path.is_dir():
            yield from _session_values(path, NO_VALUE, report)
            return
        file_names = [file.name for file in path.iterdir() if file.name.endswith(MESSAGES_SUFFIX)]
        # The main session of the folder comes first, then its subagents.
        file_names.sort(key=lambda file_name: (_is_subagent(path / file_name), file_name))
        if not file_names:
            raise UserError(f"{str(path)!r} holds no session of Cline.")
        for file_name in file_names:
            state_file = path / f"{file_name.removesuffix(MESSAGES_SUFFIX)}{COMPACTION_SUFFIX}"
            if (path / file_name).is_symlink() or state_file.is_symlink():
                # A name in a copied folder may lead anywhere.
                report(file_name, "It is a link and was left out.")
            else:
                compaction_state = (
                    _compaction_state(state_file, report) if state_file.is_file() else NO_VALUE
                )
                yield from _session_values(path / file_name, compaction_state, report)


def _session_values(path: Path, compaction_state: JsonValue, report: Report) -> Iterator[Recorded]:
    """Yield the session of a file; ``compaction_state`` is that of its last compaction."""
    session_id = json_field(path, "sessionId").id() or path.name.removesuffix(MESSAGES_SUFFIX)
    reader = _ClineMessages()
    first_message = json_field(path, "messages.item", report)
    if not first_message:
        raise UserError(f"{str(path)!r} holds no messages of Cline.")
    yield SessionBegin(
        session_id,
        ClineImporter.name,
        format_version=json_field(path, "version").id(),
        title=session_id,
        created=first_message.milliseconds("ts"),
        system=json_field(path, "system_prompt").text() or None,
        parent=_parent_id(session_id, path),
    )
    covered_count = compaction_state.count("source_message_count")
    for index, message in enumerate(json_items(path, "messages.item", report)):
        if compaction_state and index == covered_count:
            yield from reader.read_compaction(compaction_state)
            compaction_state = NO_VALUE
        if isinstance(message, dict):
            yield from reader.read_message(JsonValue(message))
        else:
            report(f"message {index + 1}", "It is no JSON object and was left out.")
    if compaction_state:
        yield from reader.read_compaction(compaction_state)


def _is_subagent(path: Path) -> bool:
    return path.is_symlink() or json_field(path, "agent").text() in SUBAGENT_KINDS


def _parent_id(session_id: str, path: Path) -> str | None:
    """Return the id of the session that started a subagent or teammate; None for other sessions."""
    parent_id = json_field(path, "origin").id("parentThreadId")
    return parent_id if parent_id and parent_id != session_id and _is_subagent(path) else None


def _compaction_state(path: Path, report: Report) -> JsonValue:
    try:
        return json_document(path)
    except UserError:
        report(path.name, "The state of the compaction cannot be read and was left out.")
        return NO_VALUE


@dataclass(slots=True)
class _ClineMessages:
    """Reads the messages of one session in their order."""

    ids: dict[str, None] = field(default_factory=dict)
    """The ids of the yielded messages, in order; a repeated id gets a number."""
    result_hashes: dict[str, bytes] = field(default_factory=dict)
    """The fingerprint of each call's first output, by the call's id."""
    call_ids_by_message: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the calls whose results are in each message."""
    result_message_ids: set[str] = field(default_factory=set)
    """Ids of messages that contain results and nothing else."""

    def read_message(self, message: JsonValue) -> Iterator[Recorded]:
        message_id = message.id("id") or f"m{len(self.ids) + 1}"
        message_id = f"{message_id}#{len(self.ids) + 1}" if message_id in self.ids else message_id
        self.ids[message_id] = None
        created_ms = message.milliseconds("ts")
        if message.text("metadata", "kind") in SUMMARY_KINDS:
            yield GapRead(BEFORE_RECORDING_SENTENCE)
            yield _compaction(message_id, message, (), created_ms)
            return
        parts, results = _parts_and_results(message.at("content"))
        self.call_ids_by_message[message_id] = [result.call for result in results]
        for result in results:
            self.result_hashes.setdefault(result.call, fingerprint(result.output))
            yield result
        if message.get("role") == "assistant":
            yield self._answer(message, message_id, parts, created_ms)
        elif parts or not results:
            yield MessageRead(message_id, "user", tuple(parts), created_ms)
        else:
            self.result_message_ids.add(message_id)

    def _answer(
        self,
        message: JsonValue,
        message_id: str,
        parts: Sequence[MessagePart],
        created_ms: int | None,
    ) -> MessageRead:
        metrics = message.at("metrics")
        name_pieces = (message.text("modelInfo", field_name) for field_name in ("provider", "id"))
        return MessageRead(
            message_id,
            "assistant",
            tuple(parts),
            created_ms,
            model="/".join(filter(None, name_pieces)),
            usage=usage_of_whole_prompt(
                metrics.tokens("inputTokens"),
                metrics.tokens("outputTokens"),
                cache_read=metrics.tokens("cacheReadTokens"),
                cache_written=metrics.tokens("cacheWriteTokens"),
            ),
            cost=metrics.cost("cost"),
            finish="tool-calls" if any(isinstance(part, Call) for part in parts) else "stop",
        )

    def read_compaction(self, state: JsonValue) -> Iterator[Recorded]:
        """Yield the compaction in a state file: its summary, and the messages that it replaced."""
        created_ms = state.milliseconds("updated_at")
        remaining_ids, outputs_by_call = dict[str, None](), dict[str, str]()
        summary = NO_VALUE
        for message in state.objects("messages"):
            message_id = message.id("id")
            if message.text("metadata", "kind") in SUMMARY_KINDS:
                summary = message
            elif message_id in self.ids:
                remaining_ids[message_id] = None
                outputs_by_call |= {
                    result.call: result.output
                    for result in _parts_and_results(message.at("content"))[1]
                }
        for message_id in remaining_ids:
            for call_id in self.call_ids_by_message.get(message_id, []):
                if fingerprint(outputs_by_call.get(call_id, "")) != self.result_hashes.get(call_id):
                    yield ReducedRead(
                        call_id, outputs_by_call.get(call_id, ""), rule=COMPACTION_RULE
                    )
        replaced_ids = tuple(
            message_id
            for message_id in self.ids
            if message_id not in {*remaining_ids, *self.result_message_ids}
        )
        if replaced_ids or summary:
            compaction_id = f"compaction-{len(self.ids)}"
            self.ids[compaction_id] = None
            yield _compaction(compaction_id, summary, replaced_ids, created_ms)


def _compaction(
    compaction_id: str, message: JsonValue, replaced_ids: tuple[str, ...], created_ms: int | None
) -> CompactionRead:
    metadata = message.at("metadata")
    return CompactionRead(
        compaction_id,
        text_of_parts(_parts_and_results(message.at("content"))[0], "\n\n"),
        replaced_messages=replaced_ids,
        created=metadata.milliseconds("generatedAt") or created_ms,
        is_automatic=not metadata.text("reason").startswith("manual"),
        tokens_before=metadata.count("tokensBefore") or None,
    )


def _parts_and_results(value: JsonValue) -> tuple[list[MessagePart], list[ResultRead]]:
    parts: list[MessagePart] = []
    results: list[ResultRead] = []
    if text := value.text():
        parts.append(Text(text))
    for block in value.objects():
        match block.get("type"):
            case "tool_result":
                results.append(_result(block))
            case "text" | "thinking" | "redacted_thinking" | "tool_use":
                parts += filter(None, (block_part(block),))
            case _:
                parts.append(_other_part(block))
    return parts, results


def _result(block: JsonValue) -> ResultRead:
    parts, _ = _parts_and_results(block.at("content"))
    return ResultRead(
        block.id("tool_use_id"),
        text_of_parts(parts),
        is_error=block.get("is_error") is True,
        media=media_of(parts),
    )


def _other_part(block: JsonValue) -> Text | Media:
    """Return an image, a file by its content, or any other block by its type."""
    if block.get("type") == "file":
        return Text(f"{block.text('path')}\n{block.text('content')}", synthetic=True)
    data = block.text("data") or block.text("source", "data")
    mime = block.text("mediaType") or block.text("source", "media_type")
    if data:
        return Media(mime or "image/png", data)
    return media_at(block.text("media", "url"), mime, block.text("type") or None)
