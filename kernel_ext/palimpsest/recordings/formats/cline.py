"""Read sessions of Cline's SDK: ``<id>.messages.json``, with the state of its last compaction beside it.

The file contains the messages of the whole session; input tokens include cached ones. The messages sent after a
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
CHILD_KINDS = frozenset({"subagent", "teammate"})
"""Values of the field ``agent`` in files of sessions that another session started."""
BEFORE_RECORDING = "Earlier messages were replaced by a summary before this was recorded."
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
        beginning = head.start[:4_096]
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
            yield from _session(path, NO_VALUE, report)
            return
        names = [child.name for child in path.iterdir() if child.name.endswith(MESSAGES_SUFFIX)]
        # The main session of the folder comes first, then its subagents.
        names.sort(key=lambda name: (_is_child(path / name), name))
        if not names:
            raise UserError(f"{str(path)!r} holds no session of Cline.")
        for name in names:
            state_file = path / f"{name.removesuffix(MESSAGES_SUFFIX)}{COMPACTION_SUFFIX}"
            if (path / name).is_symlink() or state_file.is_symlink():
                # A name in a copied folder may lead anywhere.
                report(name, "It is a link and was left out.")
            else:
                state = _state(state_file, report) if state_file.is_file() else NO_VALUE
                yield from _session(path / name, state, report)


def _session(path: Path, state: JsonValue, report: Report) -> Iterator[Recorded]:
    """Yield the session of a file; ``state`` is that of its last compaction."""
    session = json_field(path, "sessionId").id() or path.name.removesuffix(MESSAGES_SUFFIX)
    reader = _ClineMessages()
    first_message = json_field(path, "messages.item", report)
    if not first_message:
        raise UserError(f"{str(path)!r} holds no messages of Cline.")
    yield SessionBegin(
        session,
        ClineImporter.name,
        format_version=json_field(path, "version").id(),
        title=session,
        created=first_message.milliseconds("ts"),
        system=json_field(path, "system_prompt").text() or None,
        parent=_parent(session, path),
    )
    covered = state.count("source_message_count")
    for n, message in enumerate(json_items(path, "messages.item", report)):
        if state and n == covered:
            yield from reader.compaction_of(state)
            state = NO_VALUE
        if isinstance(message, dict):
            yield from reader.records(JsonValue(message))
        else:
            report(f"message {n + 1}", "It is no JSON object and was left out.")
    if state:
        yield from reader.compaction_of(state)


def _is_child(path: Path) -> bool:
    return path.is_symlink() or json_field(path, "agent").text() in CHILD_KINDS


def _parent(session: str, path: Path) -> str | None:
    """Return the session that started this one as a subagent or teammate; None for other sessions."""
    parent = json_field(path, "origin").id("parentThreadId")
    return parent if parent and parent != session and _is_child(path) else None


def _state(path: Path, report: Report) -> JsonValue:
    try:
        return json_document(path)
    except UserError:
        report(path.name, "The state of the compaction cannot be read and was left out.")
        return NO_VALUE


@dataclass(slots=True)
class _ClineMessages:
    ids: dict[str, str] = field(default_factory=dict)
    """The ids of the yielded messages; a repeated id gets a number."""
    results: dict[str, bytes] = field(default_factory=dict)
    """The fingerprint of each call's result."""
    calls_of_message: dict[str, list[str]] = field(default_factory=dict)
    """The calls whose results are in each message."""
    only_results: set[str] = field(default_factory=set)
    """Messages that contain results and nothing else."""

    def records(self, message: JsonValue) -> Iterator[Recorded]:
        name = message.id("id") or f"m{len(self.ids) + 1}"
        name = f"{name}#{len(self.ids) + 1}" if name in self.ids else name
        self.ids[name] = name
        created = message.milliseconds("ts")
        if message.text("metadata", "kind") in SUMMARY_KINDS:
            yield GapRead(BEFORE_RECORDING)
            yield _compaction(name, message, (), created)
            return
        parts, results = _content(message.at("content"))
        self.calls_of_message[name] = [read_result.call for read_result in results]
        for result in results:
            self.results.setdefault(result.call, fingerprint(result.output))
            yield result
        if message.get("role") == "assistant":
            yield self._answer(message, name, parts, created)
        elif parts or not results:
            yield MessageRead(name, "user", tuple(parts), created)
        else:
            self.only_results.add(name)

    def _answer(
        self, message: JsonValue, name: str, parts: Sequence[MessagePart], created: int | None
    ) -> MessageRead:
        metrics = message.at("metrics")
        names = (message.text("modelInfo", name) for name in ("provider", "id"))
        return MessageRead(
            name,
            "assistant",
            tuple(parts),
            created,
            model="/".join(filter(None, names)),
            usage=usage_of_whole_prompt(
                metrics.tokens("inputTokens"),
                metrics.tokens("outputTokens"),
                cache_read=metrics.tokens("cacheReadTokens"),
                cache_written=metrics.tokens("cacheWriteTokens"),
            ),
            cost=metrics.cost("cost"),
            finish="tool-calls" if any(isinstance(part, Call) for part in parts) else "stop",
        )

    def compaction_of(self, state: JsonValue) -> Iterator[Recorded]:
        """Yield the compaction in a state file: its summary, and the messages that it replaced."""
        created = state.milliseconds("updated_at")
        remaining_messages, shown_results = dict[str, None](), dict[str, str]()
        summary = NO_VALUE
        for message in state.objects("messages"):
            name = message.id("id")
            if message.text("metadata", "kind") in SUMMARY_KINDS:
                summary = message
            elif name in self.ids:
                remaining_messages[name] = None
                shown_results |= {
                    result.call: result.output for result in _content(message.at("content"))[1]
                }
        for name in remaining_messages:
            for call in self.calls_of_message.get(name, []):
                if fingerprint(shown_results.get(call, "")) != self.results.get(call):
                    yield ReducedRead(call, shown_results.get(call, ""), rule=COMPACTION_RULE)
        replaced_names = tuple(
            name for name in self.ids if name not in {*remaining_messages, *self.only_results}
        )
        if replaced_names or summary:
            name = f"compaction-{len(self.ids)}"
            self.ids[name] = name
            yield _compaction(name, summary, replaced_names, created)


def _compaction(
    name: str, message: JsonValue, replaced_messages: tuple[str, ...], created: int | None
) -> CompactionRead:
    metadata = message.at("metadata")
    return CompactionRead(
        name,
        text_of_parts(_content(message.at("content"))[0], "\n\n"),
        replaced_messages=replaced_messages,
        created=metadata.milliseconds("generatedAt") or created,
        is_automatic=not metadata.text("reason").startswith("manual"),
        tokens_before=metadata.count("tokensBefore") or None,
    )


def _content(value: JsonValue) -> tuple[list[MessagePart], list[ResultRead]]:
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
                parts.append(_other_block(block))
    return parts, results


def _result(block: JsonValue) -> ResultRead:
    parts, _ = _content(block.at("content"))
    return ResultRead(
        block.id("tool_use_id"),
        text_of_parts(parts),
        is_error=block.get("is_error") is True,
        media=media_of(parts),
    )


def _other_block(block: JsonValue) -> Text | Media:
    """Return an image, a file by its content, or any other block by its type."""
    if block.get("type") == "file":
        return Text(f"{block.text('path')}\n{block.text('content')}", synthetic=True)
    data = block.text("data") or block.text("source", "data")
    mime = block.text("mediaType") or block.text("source", "media_type")
    if data:
        return Media(mime or "image/png", data)
    return media_at(block.text("media", "url"), mime, block.text("type") or None)
