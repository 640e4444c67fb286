"""Read sessions of Cline's SDK: ``<id>.messages.json``, with the state of its last compaction beside it.

The messages are those of the whole session; tokens of the input count cached ones. What was sent after a
compaction is in ``<id>.compaction.json``, which is read where a session's folder is imported: messages
that it repeats stayed, all others of the part that it covers were replaced. Subagents and teammates have files
in the folder of the session that began them, and name it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.review.importing.content_blocks import block_part
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    cost_field,
    count,
    fingerprint,
    identifier,
    inner,
    mapping,
    mappings,
    media_at,
    milliseconds,
    text,
    tokens,
    usage_of_whole_prompt,
)
from palimpsest.review.importing.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Json,
    Media,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    media_of,
    words_of,
)
from palimpsest.review.importing.sources import json_document, json_field, json_items
from palimpsest.transcript.errors import UserError

MESSAGES = ".messages.json"
COMPACTION = ".compaction.json"
SUMMARIES = {"compaction", "compaction_summary"}
"""How a message says that it is the summary of a compaction: the one without a model, and the one with."""
CHILDREN = frozenset({"subagent", "teammate"})
"""How a file says that another session began it."""
BEFORE_RECORDING = "Earlier messages were replaced by a summary before this was recorded."
RULE = "cline.compaction"
_BEGINS = re.compile(rb'\A\s*\{\s*"version"\s*:\s*\d+\s*,')


class ClineImporter:
    """Reads a session's messages, or a session's folder."""

    name = "cline"
    title = "Cline"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a folder holds a session's messages, or a file begins as they do."""
        if head.names:
            return any(one.endswith(MESSAGES) for one in head.names)
        begins = head.start[:4_096]
        return bool(_BEGINS.match(begins)) and all(
            name in begins for name in (b'"sessionId"', b'"agent"', b'"messages"')
        )

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a file, or the sessions of a folder."""
        if not path.is_dir():
            yield from _session(path, None, report)
            return
        names = [one.name for one in path.iterdir() if one.name.endswith(MESSAGES)]
        # The session whose folder it is comes first, then its subagents.
        names.sort(key=lambda name: (_is_child(path / name), name))
        if not names:
            raise UserError(f"{str(path)!r} holds no session of Cline.")
        for name in names:
            beside = path / f"{name.removesuffix(MESSAGES)}{COMPACTION}"
            if (path / name).is_symlink() or beside.is_symlink():
                report(name, "It is a link and was left out.")  # a copied folder may point anywhere
            else:
                yield from _session(path / name, beside if beside.is_file() else None, report)


def _session(path: Path, compaction: Path | None, report: Report) -> Iterator[Recorded]:
    about = {
        name: json_field(path, name)
        for name in ("sessionId", "version", "agent", "origin", "system_prompt")
    }
    session = identifier(about["sessionId"]) or path.name.removesuffix(MESSAGES)
    state = _state(compaction, report)
    reader = _ClineMessages()
    first = mapping(json_field(path, "messages.item", report))
    if not first:
        raise UserError(f"{str(path)!r} holds no messages of Cline.")
    yield SessionBegin(
        session,
        ClineImporter.name,
        format_version=identifier(about["version"]),
        title=session,
        created=milliseconds(first.get("ts")),
        system=text(about["system_prompt"]) or None,
        parent=_parent(session, about),
    )
    covered = count(state.get("source_message_count"))
    for n, message in enumerate(json_items(path, "messages.item", report)):
        if state and n == covered:
            yield from reader.compacted(state)
            state = {}
        if isinstance(message, dict):
            yield from reader.told(message)
        else:
            report(f"message {n + 1}", "It is no JSON object and was left out.")
    if state:
        yield from reader.compacted(state)


def _is_child(path: Path) -> bool:
    if path.is_symlink():
        return True
    return text(json_field(path, "agent")) in CHILDREN


def _parent(session: str, about: Json) -> str | None:
    """Return the session that began this one as a subagent or a teammate, as far as it is another one."""
    named = identifier(inner(about["origin"], "parentThreadId"))
    is_child = text(about["agent"]) in CHILDREN
    return named if is_child and named and named != session else None


def _state(path: Path | None, report: Report) -> Json:
    if path is None:
        return {}
    try:
        return mapping(json_document(path))
    except UserError:
        report(path.name, "The state of the compaction cannot be read and was left out.")
        return {}


@dataclass(slots=True)
class _ClineMessages:
    """Reads the messages of one session."""

    ids: dict[str, str] = field(default_factory=dict)
    """The message that was told for each id; a repeated id gets a number."""
    results: dict[str, bytes] = field(default_factory=dict)
    """The fingerprint of each call's result."""
    owners: dict[str, list[str]] = field(default_factory=dict)
    """The calls whose results stand in a message."""
    only_results: set[str] = field(default_factory=set)
    """Messages that hold results and nothing else."""

    def told(self, message: Json) -> Iterator[Recorded]:
        name = identifier(message.get("id")) or f"m{len(self.ids) + 1}"
        name = f"{name}#{len(self.ids) + 1}" if name in self.ids else name
        self.ids[name] = name
        created = milliseconds(message.get("ts"))
        if text(inner(message, "metadata", "kind")) in SUMMARIES:
            yield GapRead(BEFORE_RECORDING)
            yield _compaction(name, message, (), created)
            return
        parts, results = _content(message.get("content"))
        self.owners[name] = [one.call for one in results]
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
        self,
        message: Json,
        name: str,
        parts: Sequence[Text | Thinking | Media | Call],
        created: int | None,
    ) -> MessageRead:
        metrics = mapping(message.get("metrics"))
        names = (text(inner(message, "modelInfo", name)) for name in ("provider", "id"))
        return MessageRead(
            name,
            "assistant",
            tuple(parts),
            created,
            model="/".join(one for one in names if one),
            usage=usage_of_whole_prompt(
                tokens(metrics, "inputTokens"),
                tokens(metrics, "outputTokens"),
                read=tokens(metrics, "cacheReadTokens"),
                written=tokens(metrics, "cacheWriteTokens"),
            ),
            cost=cost_field(metrics, "cost"),
            finish="tool-calls" if any(isinstance(one, Call) for one in parts) else "stop",
        )

    def compacted(self, state: Json) -> Iterator[Recorded]:
        """Tell what a compaction's state shows instead of the messages before it."""
        created = milliseconds(state.get("updated_at"))
        stayed, shown = dict[str, None](), dict[str, str]()
        summary: Json = {}
        for message in mappings(state.get("messages")):
            name = identifier(message.get("id"))
            if text(inner(message, "metadata", "kind")) in SUMMARIES:
                summary = message
            elif name in self.ids:
                stayed[name] = None
                shown |= {one.call: one.output for one in _content(message.get("content"))[1]}
        gone = [one for one in self.ids if one not in stayed]
        for name in stayed:
            for call in self.owners.get(name, []):
                if fingerprint(shown.get(call, "")) != self.results.get(call):
                    yield ReducedRead(call, shown.get(call, ""), rule=RULE)
        replaced = tuple(one for one in gone if one not in self.only_results)
        if not replaced and not summary:
            return
        name = f"compaction-{len(self.ids)}"
        self.ids[name] = name
        yield _compaction(name, summary, replaced, created)


def _compaction(
    name: str, message: Json, replaced: tuple[str, ...], created: int | None
) -> CompactionRead:
    metadata = mapping(message.get("metadata"))
    parts, _ = _content(message.get("content"))
    said = words_of(parts, "\n\n")
    reason = text(metadata.get("reason"))
    return CompactionRead(
        name,
        said,
        replaced=replaced,
        created=milliseconds(metadata.get("generatedAt")) or created,
        auto=not reason.startswith("manual"),
        tokens_before=count(metadata.get("tokensBefore")) or None,
    )


def _content(value: Any) -> tuple[list[Text | Thinking | Media | Call], list[ResultRead]]:
    parts: list[Text | Thinking | Media | Call] = []
    results: list[ResultRead] = []
    if isinstance(value, str):
        return ([Text(text(value))] if value else []), []
    for one in mappings(value):
        match one.get("type"):
            case "tool_result":
                results.append(_result(one))
            case "text" | "thinking" | "redacted_thinking" | "tool_use":
                parts += filter(None, (block_part(one),))
            case _:
                parts.append(_other(one))
    return parts, results


def _result(block: Json) -> ResultRead:
    parts, _ = _content(block.get("content"))
    return ResultRead(
        identifier(block.get("tool_use_id")),
        words_of(parts),
        is_error=block.get("is_error") is True,
        media=media_of(parts),
    )


def _other(block: Json) -> Text | Media:
    """Return an image, a file by its content, or any other block by what it is called."""
    if block.get("type") == "file":
        return Text(f"{text(block.get('path'))}\n{text(block.get('content'))}", synthetic=True)
    data = text(block.get("data")) or text(inner(block, "source", "data"))
    mime = text(block.get("mediaType")) or text(inner(block, "source", "media_type"))
    if data:
        return Media(mime or "image/png", data)
    return media_at(text(inner(block, "media", "url")), mime, text(block.get("type")) or None)
