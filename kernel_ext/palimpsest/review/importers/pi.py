"""Read sessions of pi, and of OpenClaw, which writes the same files: one JSON object a line, versions 1 to 3.

Since version 2 the lines form a tree: the last line is the leaf, and the path to it is the session. What hangs
on other leaves becomes sessions of its own, each with the messages that it shares with the path it left.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.review.importers.pi_branches import PiBranch, PiTree
from palimpsest.review.importing.content_blocks import content_parts, said_parts
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import (
    cost_field,
    count,
    decoded,
    finish_of,
    mapping,
    moment,
    small_facts,
    text,
    tokens,
)
from palimpsest.review.importing.recorded import (
    CompactionRead,
    GapRead,
    Json,
    Media,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    TitleRead,
    media_of,
    words_of,
)
from palimpsest.review.importing.sources import json_lines, unreported
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

FIRST_TREE = 2
"""The first version whose lines have ids."""
BRANCH_SUMMARY = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}</summary>"
)
CUT = "The output was cut before it was recorded."


class PiImporter:
    """Reads sessions of pi and OpenClaw."""

    name = "pi"
    title = "pi"
    tried_on = "real sessions"

    def recognises(self, head: Head) -> bool:
        """Return whether the first line is the header of a session."""
        header = _header(head.start.split(b"\n", 1)[0])
        return header is not None and "timestamp" in header and "cwd" in header

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session that the last line ends, then its other branches."""
        _, header = next(json_lines(path, unreported), (0, {}))
        if header.get("type") != "session":
            raise UserError(f"{path.name!r} does not begin with the header of a session.")
        if count(header.get("version")) < FIRST_TREE:
            yield from _PiPath(header).read(path, report, None)
            return
        for branch in PiTree(path, report).branches(text(header.get("id")), report):
            yield from _PiPath(header, branch).read(path, report, branch.entries)


class _PiPath:
    """Reads the entries of one path in their order."""

    def __init__(self, header: Json, branch: PiBranch | None = None) -> None:
        self._header = header
        self._branch = branch
        self._model = _model(header.get("provider"), header.get("modelId"))
        self._effort = text(header.get("thinkingLevel")) or None
        """Since the newest answer."""
        self._count = 0
        self._kept: dict[str, str] = {}
        """For each entry the first message from it on, by which a compaction names what it kept."""
        self._before: list[str] = []
        """Entries since the newest message, which its next one stands for."""

    def read(
        self, path: Path, report: Report, entries: frozenset[str] | None
    ) -> Iterator[Recorded]:
        yield self._begin()
        index = 0
        for number, entry in json_lines(path, report):
            kind = entry.get("type")
            name = text(entry.get("id")) if entries is not None else str(index)
            index += 1
            if kind == "session" or (entries is not None and name not in entries):
                continue
            self._before.append(name)
            yield from self._entry(entry, text(kind), f"line {number}", report)

    def _begin(self) -> SessionBegin:
        header, branch = self._header, self._branch
        recorded = text(header.get("id"))
        return SessionBegin(
            id=recorded if branch is None else branch.name,
            format="pi",
            format_version=str(count(header.get("version")) or 1),
            directory=text(header.get("cwd")),
            created=moment(header.get("timestamp")),
            model=self._model,
            branch_of=None if branch is None else branch.of,
            branch_at=None if branch is None else branch.at,
        )

    def _entry(self, entry: Json, kind: str, place: str, report: Report) -> Iterator[Recorded]:
        match kind:
            case "message":
                message = mapping(entry.get("message"))
                yield from self._message(message, entry, place, report)
            case "custom_message":
                yield self._told(entry, said_parts(entry.get("content")))
            case "branch_summary":
                words = BRANCH_SUMMARY.format(text(entry.get("summary")))
                yield self._told(entry, (Text(words),))
            case "compaction":
                yield self._compaction(entry)
            case "model_change":
                self._model = _model(entry.get("provider"), entry.get("modelId"))
            case "thinking_level_change":
                self._effort = text(entry.get("thinkingLevel")) or None
            case "session_info" if text(entry.get("name")):
                yield TitleRead(text(entry.get("name")))
            case "session_info" | "label" | "custom":
                pass  # never sent to the model
            case _:
                report(place, f"It is of the kind {kind!r}, which is not known, and was left out.")

    def _message(
        self, message: Json, entry: Json, place: str, report: Report
    ) -> Iterator[Recorded]:
        role = message.get("role")
        match role:
            case "user":
                parts = said_parts(message.get("content"))
                yield self._told(entry, parts, message, by_program=False)
            case "assistant":
                yield self._answer(message, entry)
            case "toolResult":
                yield from _result(message, entry)
            case "bashExecution":
                if not message.get("excludeFromContext"):
                    yield self._told(entry, (Text(_ran(message)),), message)
            case "custom" | "hookMessage":
                yield self._told(entry, said_parts(message.get("content")), message)
            case "branchSummary":
                words = BRANCH_SUMMARY.format(text(message.get("summary")))
                yield self._told(entry, (Text(words),), message)
            case _:
                report(place, f"It is by {role!r}, which is not known, and was left out.")

    def _named(self, entry: Json) -> str:
        """Return the id of the next message, which also stands for the entries before it."""
        self._count += 1
        name = text(entry.get("id")) or f"m{self._count}"
        for one in self._before:
            self._kept[one] = name
        self._before = []
        return name

    def _told(
        self,
        entry: Json,
        parts: tuple[Text | Media, ...],
        message: Json | None = None,
        *,
        by_program: bool = True,
    ) -> MessageRead:
        """Return a message of the user, or one that pi or an extension of it wrote in the user's place."""
        return MessageRead(
            id=self._named(entry),
            role="user",
            parts=parts,
            created=_time(message or {}, entry),
            model=self._model,
            effort=self._effort,
            by_program=by_program,
        )

    def _answer(self, message: Json, entry: Json) -> MessageRead:
        usage, cost = _usage(mapping(message.get("usage")))
        model = _model(message.get("provider"), message.get("model"))
        return MessageRead(
            id=self._named(entry),
            role="assistant",
            parts=tuple(content_parts(message.get("content"))),
            created=_time(message, entry),
            completed=moment(entry.get("timestamp")),
            model=model or self._model,
            effort=self._effort,
            usage=usage,
            cost=cost,
            finish=finish_of(message.get("stopReason")),
            error=text(message.get("errorMessage")) or None,
        )

    def _compaction(self, entry: Json) -> CompactionRead:
        self._count += 1
        kept = entry.get("firstKeptEntryId", entry.get("firstKeptEntryIndex"))
        tokens = entry.get("tokensBefore")
        usage, _ = _usage(mapping(entry.get("usage")))
        return CompactionRead(
            id=text(entry.get("id")) or f"m{self._count}",
            summary=text(entry.get("summary")),
            keeps_from=self._kept.get(str(kept)),
            created=moment(entry.get("timestamp")),
            tokens_before=count(tokens) if tokens is not None else None,
            usage=usage,
        )


def _header(line: bytes) -> Json | None:
    value = decoded(line)
    fits = isinstance(value, dict) and value.get("type") == "session"
    return value if fits and isinstance(value.get("id"), str) else None


def _model(provider: Any, name: Any) -> str:
    return f"{text(provider)}/{text(name)}" if text(name) else ""


def _time(message: Json, entry: Json) -> int | None:
    """Return when a request was sent or a message written; an entry's own time is when it was recorded."""
    written = moment(message.get("timestamp"))
    return written if written is not None else moment(entry.get("timestamp"))


def _usage(value: Json) -> tuple[Usage | None, float | None]:
    """Return the usage; None for one of zeros, which pi writes where nothing was reported."""
    usage = Usage(
        input=tokens(value, "input"),
        output=tokens(value, "output"),
        cache_read=tokens(value, "cacheRead"),
        cache_write=tokens(value, "cacheWrite"),
    )
    if usage == Usage():
        return None, None
    cost = cost_field(value, "cost", "total")
    return usage, cost or None


def _result(message: Json, entry: Json) -> Iterator[Recorded]:
    call = text(message.get("toolCallId"))
    parts = said_parts(message.get("content"))
    details = mapping(message.get("details"))
    yield ResultRead(
        call=call,
        output=words_of(parts),
        is_error=message.get("isError") is True,
        ended=_time(message, entry),
        media=media_of(parts),
        metadata=small_facts(details),
    )
    cut = mapping(details.get("truncation"))
    if cut.get("truncated") is True:
        left_out = count(cut.get("totalBytes")) - count(cut.get("outputBytes"))
        yield GapRead(CUT, call=call, chars=left_out if left_out > 0 else None)


def _ran(message: Json) -> str:
    """Return what the model is told of a command that the user ran."""
    output = text(message.get("output"))
    words = [
        f"Ran `{text(message.get('command'))}`",
        f"```\n{output}\n```" if output else "(no output)",
    ]
    code = message.get("exitCode")
    if message.get("cancelled"):
        words.append("\n(command cancelled)")
    elif isinstance(code, int) and code:
        words.append(f"\nCommand exited with code {code}")
    kept = text(message.get("fullOutputPath"))
    if message.get("truncated") is True and kept:
        words.append(f"\n[Output truncated. Full output: {kept}]")
    return "\n".join(words)
