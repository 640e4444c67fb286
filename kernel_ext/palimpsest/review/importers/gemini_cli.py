"""Read chats of Gemini CLI: ``session-*.json``, and ``.jsonl`` with updates of what stood before.

The chats of subagents lie in the folder beside it that has its session's id as name; a call names its own.
In the line format a record with a known id replaces the former one, so an answer is told when the next message
begins. ``$rewindTo`` takes messages back; ``$set`` with messages is the history after the program masked
results or compressed it. Cached tokens are a part of the input, thoughts are counted beside the output.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import NOTHING, JsonValue, fingerprint, media_at
from palimpsest.review.importing.recorded import (
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
    words_of,
)
from palimpsest.review.importing.sources import (
    head_of,
    json_field,
    json_lines,
    json_objects,
    report_beside,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import Usage

SUBAGENT = "subagent"
"""How the head of a subagent's chat says what it is."""
MOST_CHILDREN = 200
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
"""Ids that the program takes for a folder's name as they are."""
SAID = {"user", "gemini"}
"""Kinds of records that are sent; ``info``, ``error`` and ``warning`` are for the person only."""
FAILED = {"error", "cancelled"}
MASKED = "gemini.mask"
NOT_ASKED = "The program put this answer into the history; no request made it."
CHANGED = "The text of this message was changed after it had been recorded."


class GeminiCliImporter:
    """Reads one chat."""

    name = "gemini-cli"
    title = "Gemini CLI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins with the head of a chat."""
        begins = head.start[:2_000].lstrip()
        return begins.startswith(b"{") and b'"sessionId"' in begins and b'"projectHash"' in begins

    def read_alone(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a chat."""
        yield from _chat(path, _GeminiChat(path.parent.name), report)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session of a chat, then its subagents; a whole document is read as if its messages were lines."""
        chat = _GeminiChat(path.parent.name)
        yield from _chat(path, chat, report)
        for file in _subagents(path, chat, report):
            child = _GeminiChat(file.parent.name)
            report_there = report_beside(report, file.name)
            try:
                yield from _chat(file, child, report_there)
            except (OSError, UserError):
                report_there("", "It cannot be read.")


def _chat(path: Path, chat: "_GeminiChat", report: Report) -> Iterator[Recorded]:
    lines = ((f"line {number}", record) for number, record in json_lines(path, report))
    for place, record in lines if _is_lines(path) else _document(path, report):
        yield from chat.told(record, place, report)
    yield from chat.finished()
    if not chat.begun:
        raise UserError(f"{str(path)!r} holds no chat of Gemini CLI.")


def _subagents(path: Path, chat: "_GeminiChat", report: Report) -> Iterator[Path]:
    """Yield the chats of a session's subagents; theirs lie there too, and links are left out."""
    folder = path.parent / chat.session
    if chat.is_subagent or not PLAIN_NAME.fullmatch(chat.session):
        return
    if folder.is_symlink() or not folder.is_dir():
        return
    files = sorted(one for one in folder.iterdir() if one.suffix in (".json", ".jsonl"))
    if len(files) > MOST_CHILDREN:
        report("", f"Only the first {MOST_CHILDREN} of its subagents were read.")
    for file in files[:MOST_CHILDREN]:
        try:
            ours = not file.is_symlink() and GeminiCliImporter().recognises(head_of(file))
        except UserError:
            ours = False
        if ours:
            yield file
        else:
            report(file.name, "It is no chat and was left out.")


def _is_lines(path: Path) -> bool:
    """Return whether the first line is a whole object, which has no messages in it."""
    first, newline, _ = head_of(path).start.partition(b"\n")
    return bool(newline) and first.strip().endswith(b"}") and b'"messages"' not in first


def _document(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    names = ("sessionId", "startTime", "kind")
    yield "head", JsonValue({name: json_field(path, name).raw for name in names})
    yield from json_objects(path, "messages.item", report, "message")
    if summary := json_field(path, "summary").raw:
        yield "summary", JsonValue({"$set": {"summary": summary}})


@dataclass(slots=True)
class _GeminiChat:
    """Reads the records of one chat."""

    folder: str
    """Name of the folder that it lies in; of a subagent, the id of the session that began it."""
    begun: bool = False
    session: str = ""
    is_subagent: bool = False
    live: dict[str, None] = field(default_factory=dict)
    """Messages that are in the history, in order."""
    told_records: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    """Of each message that was told the fingerprint of its content, and whether its tokens were reported."""
    shown: dict[str, bytes] = field(default_factory=dict)
    """What the history shows of each call's result."""
    whole: dict[str, bytes] = field(default_factory=dict)
    pending: JsonValue = NOTHING
    """An answer that later records may complete."""
    count: int = 0

    def told(self, record: JsonValue, place: str, report: Report) -> Iterator[Recorded]:
        self.count += 1
        if not self.begun:
            self.begun = True
            yield self._begin(record, place)
        if isinstance(rewound := record.get("$rewindTo"), str):
            yield from self.finished()
            yield from self._rewound(rewound)
        elif isinstance(record.get("$set"), dict):
            changes = record.at("$set")
            if isinstance(changes.get("messages"), list):
                yield from self.finished()
                yield from self._history(changes)
            if title := changes.text("summary"):
                yield TitleRead(title)
        elif "id" in record and record.text("type") in SAID:
            yield from self._message(record)
        elif "id" in record and not isinstance(record.get("type"), str):
            report(place, "It is a message of no known kind and was left out.")

    def _begin(self, record: JsonValue, place: str) -> SessionBegin:
        self.session = record.id("sessionId") or place
        self.is_subagent = record.get("kind") == SUBAGENT
        known = self.is_subagent and self.folder not in ("", "chats", self.session)
        return SessionBegin(
            self.session,
            GeminiCliImporter.name,
            parent=self.folder if known else None,
            directory=JsonValue(next(iter(record.listed("directories")), "")).text(),
            created=record.milliseconds("startTime") or record.milliseconds("timestamp"),
        )

    def _message(self, record: JsonValue) -> Iterator[Recorded]:
        name = record.id("id") or f"m{self.count}"
        if self.pending and self.pending.id("id") == name:
            self.pending = record
            return
        yield from self.finished()
        if name in self.told_records:
            yield from self._again(name, record)
        elif record.get("type") == "gemini":
            self.pending = record
        else:
            yield from self._from_user(name, record)

    def finished(self) -> Iterator[Recorded]:
        """Yield the answer that nothing completes any more."""
        if record := self.pending:
            self.pending = NOTHING
            name = record.id("id") or f"a{self.count}"
            self._add(name, record)
            calls = record.objects("toolCalls")
            yield MessageRead(
                name,
                "assistant",
                (*_thoughts(record), *_content(record.at("content")), *map(_call, calls)),
                record.milliseconds("timestamp"),
                model=f"gemini/{model}" if (model := record.text("model")) else "",
                usage=_usage(record.at("tokens")),
                finish="tool-calls" if calls else "stop",
            )
            for call in calls:
                if call.get("result") is not None or call.text("status") in FAILED:
                    yield self._result(call)

    def _from_user(self, name: str, record: JsonValue) -> Iterator[Recorded]:
        if parts := tuple(_content(record.at("content"))):
            self._add(name, record)
            yield MessageRead(name, "user", parts, record.milliseconds("timestamp"))

    def _add(self, name: str, record: JsonValue) -> None:
        self.live[name] = None
        self._note(name, record)

    def _note(self, name: str, record: JsonValue) -> None:
        content = fingerprint(record.plain("content"))
        self.told_records[name] = content, bool(record.get("tokens"))

    def _result(self, call: JsonValue) -> ResultRead:
        name, output = call.id("id"), _output(call.at("result"))
        self.whole[name] = self.shown[name] = fingerprint(output)
        return ResultRead(
            name,
            output,
            is_error=call.text("status") in FAILED,
            ended=call.milliseconds("timestamp"),
            media=media_of(_content(call.at("result"))),
            session=call.id("agentId") or None,
        )

    def _again(self, name: str, record: JsonValue) -> Iterator[Recorded]:
        """Tell what a later record of a message adds to it."""
        former, had_tokens = self.told_records[name]
        usage = _usage(record.at("tokens"))
        if usage and not had_tokens:
            yield UsageRead(name, usage)
        yield from self._results_again(record)
        if fingerprint(record.plain("content")) != former:
            yield GapRead(CHANGED, message=name, chars=len(record.plain("content")))
        self._add(name, record)

    def _results_again(self, record: JsonValue) -> Iterator[Recorded]:
        for call in record.objects("toolCalls"):
            name, output = call.id("id"), _output(call.at("result"))
            if name not in self.whole:
                if call.get("result") is not None:
                    yield self._result(call)
            elif (mark := fingerprint(output)) != self.shown[name]:
                self.shown[name] = mark
                restored = mark == self.whole[name]
                yield ReducedRead(name, "" if restored else output, MASKED, restored=restored)

    def _rewound(self, name: str) -> Iterator[Recorded]:
        """Tell what was taken back; the program takes everything back where it does not know the message."""
        gone = list[str]()
        while self.live and name not in gone[-1:]:
            gone.append(self.live.popitem()[0])
        if gone:
            yield RemovedRead(tuple(reversed(gone)))

    def _history(self, changes: JsonValue) -> Iterator[Recorded]:
        """Tell what the program made of the history: masked results, or a summary of what it left out."""
        history = {
            name: one
            for one in changes.objects("messages")
            if one.text("type") in SAID and (name := one.id("id"))
        }
        gone = tuple(one for one in self.live if one not in history)
        added = [one for name, one in history.items() if name not in self.live]
        said = [one for one in added if any(_content(one.at("content")))]
        summary = next((one for one in said if one.get("type") == "user"), NOTHING)
        for one in history.values():
            yield from self._results_again(one)
        if gone:
            yield CompactionRead(
                name := summary.id("id") or f"c{self.count}",
                words_of(_content(summary.at("content"))),
                replaced=gone,
                created=changes.milliseconds("lastUpdated"),
            )
            self._note(name, summary)
        for one in said:
            name = one.id("id")
            if one is summary and gone:
                continue
            if one.get("type") == "user":
                yield from self._from_user(name, one)
            else:
                self._add(name, one)
                yield GapRead(NOT_ASKED, chars=len(one.plain("content")))
        self.live = dict.fromkeys(
            one for one in history if one in self.told_records or one in self.live
        )


def _thoughts(record: JsonValue) -> Iterator[Thinking]:
    for one in record.objects("thoughts"):
        said = (one.text("subject"), one.text("description"))
        yield Thinking("\n".join(part for part in said if part))


def _call(value: JsonValue) -> Call:
    return Call(value.id("id"), value.text("name") or "unknown", value.tool_input("args"))


def _content(value: JsonValue) -> Iterator[Text | Media]:
    """Yield what parts say; results of calls are told with their calls."""
    for one in _parts(value):
        if said := one.text() or one.text("text"):
            yield Text(said)
        elif data := one.text("inlineData", "data"):
            yield Media(one.text("inlineData", "mimeType") or "image/png", data)
        elif address := one.get("fileData", "fileUri"):
            yield media_at(address, one.text("fileData", "mimeType"))


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    return map(JsonValue, value.raw if isinstance(value.raw, list) else [value.raw])


def _output(value: JsonValue) -> str:
    """Return the text of a result: its function's output or error, and what stands beside it."""
    told = list[str]()
    for one in _parts(value):
        if response := one.at("functionResponse", "response"):
            known = {"output", "error"} & response.fields().keys()
            told.append((response.either("output", "error") if known else response).plain())
        else:
            told += [part.text for part in _content(one) if isinstance(part, Text)]
    return "\n".join(told)


def _usage(told: JsonValue) -> Usage | None:
    cached, prompt = told.tokens("cached"), told.tokens("input")
    if not (prompt or told.tokens("output")):
        return None
    return Usage(
        # Prompts of the provider's own tools are counted beside the prompt.
        input=max(0, prompt - cached) + told.tokens("tool"),
        output=told.tokens("output"),
        reasoning=told.tokens("thoughts"),
        cache_read=cached,
    )
