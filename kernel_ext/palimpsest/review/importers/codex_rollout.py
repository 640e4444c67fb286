"""Read one rollout of Codex: one record a line, ``{timestamp, type, payload}``.

What the model said and was told stands in ``response_item``; ``event_msg`` repeats it for the screen and is read for
usage, stops and rollbacks alone. A report of usage counts where the total changed: each is written twice. What
the model is shown after a compaction is ``replacement_history``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from palimpsest.review.importers.codex_items import (
    CALLS,
    INHERITED,
    OUTPUTS,
    agent_message,
    answer_part,
    inherited_parts,
    is_program,
    message_parts,
    provider_result,
    ran_at_provider,
    result_of,
    usage_of,
)
from palimpsest.review.importers.codex_threads import NamedThreads, thread_header
from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.json_fields import NOTHING, JsonValue
from palimpsest.review.importing.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    UsageRead,
    words_of,
)
from palimpsest.review.importing.sources import json_lines, unreported
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import Usage, priced_tier

FORMAT = "codex"
LOOKED_AHEAD = 200
"""Lines in which the first model and its window are looked for."""
ANSWERS = CALLS | {"reasoning"}
NO_TOOLS = "The tools are not in the recording."
COPIED = (
    "It may begin with requests of the session that began it; where its own begin is not recorded."
)
NO_ANSWER = "The answer of this request is not in the recording."
ENCRYPTED = "What one agent wrote to the other is encrypted."
SILENT = frozenset({"ghost_snapshot", "other", "compaction_trigger"})
"""Items that hold nothing the model is shown."""


class CodexRollout:
    """Reads one rollout.

    Responsibilities: join the items of one answer, and give it the usage that is reported after it.
    """

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._provider = "openai"
        self._model = ""
        self._effort: str | None = None
        self._tier: str | None = None
        """The service tier of the turn, where it has a price of its own."""
        self._total = NOTHING
        self._count = 0
        self._parts: list[Text | Thinking | Media | Call] = []
        """Of the answer that is not complete yet."""
        self._created: int | None = None
        self._held: list[Recorded] = []
        """Results that came before their answer was complete."""
        self._ran: list[ResultRead] = []
        """Results of calls that the provider ran in that answer."""
        self._unreported: str | None = None
        """The newest answer, while its usage may still be reported."""
        self._order: list[tuple[str, bool]] = []
        """Messages since the last compaction, and whether a turn begins with each."""
        self.threads = NamedThreads("")
        """The threads that it names, complete when it was read."""
        self._own_from = 0
        """The ordinal of its first own record; before it stands what its parent was shown."""
        self._said: dict[str, str] = {}
        """The newest message with each text of a user, by which a compaction names what it kept."""

    def read(self) -> Iterator[Recorded]:
        """Yield the session of the rollout."""
        begun = False
        for number, record in json_lines(self._path, self._report):
            kind, payload = _normal(record)
            time = record.moment("timestamp")
            if not begun:
                begun = True
                yield from self._begin(payload if kind == "session_meta" else NOTHING, time)
            ordinal = record.get("ordinal")
            if isinstance(ordinal, int) and ordinal < self._own_from:
                yield from self._inherited(kind, payload, time)
                continue
            yield from self._record(kind, payload, time, f"line {number}")
        yield from self._complete(None)

    def _begin(self, meta: JsonValue, time: int | None) -> Iterator[Recorded]:
        self._provider = meta.text("model_provider") or self._provider
        model, window = self._look_ahead()
        told = meta.at("base_instructions")
        system = told.get("text") if "text" in told else meta.get("instructions")
        header = thread_header(meta, recorded_name(self._path.stem))
        self.threads.own, self._own_from = header.thread, header.own_from or 0
        created = meta.moment("timestamp")
        yield SessionBegin(
            id=header.thread,
            format=FORMAT,
            format_version=meta.text("cli_version"),
            title=header.title,
            directory=meta.text("cwd"),
            created=created if created is not None else time,
            model=model,
            window=window,
            system=system if isinstance(system, str) and system else None,
            parent=header.parent,
        )
        yield GapRead(NO_TOOLS)
        if header.own_from:
            yield GapRead(INHERITED)
        elif header.copied:
            yield GapRead(COPIED)
        if header.problem:
            self._report("line 1", header.problem)

    def _look_ahead(self) -> tuple[str, int | None]:
        model, window = "", None
        for number, record in json_lines(self._path, unreported):
            kind, payload = _normal(record)
            if kind == "turn_context" and not model:
                model = self._named(payload)
            told = payload if payload.get("model_context_window") else payload.at("info")
            window = window or told.count("model_context_window") or None
            if (model and window) or number > LOOKED_AHEAD:
                break
        return model, window

    def _named(self, context: JsonValue) -> str:
        name = context.text("model")
        return f"{self._provider}/{name}" if name else ""

    def _record(
        self, kind: str, payload: JsonValue, time: int | None, place: str
    ) -> Iterator[Recorded]:
        match kind:
            case "response_item":
                yield from self._item(payload, time, place)
            case "event_msg":
                yield from self._event(payload, time)
            case "turn_context":
                self._model = self._named(payload) or self._model
                mode = payload.at("collaboration_mode", "settings")
                told = (
                    payload.at("effort") if payload.get("effort") else mode.at("reasoning_effort")
                )
                self._effort = told.text() or None
                self._tier = priced_tier(payload.get("service_tier"))
            case "compacted":
                yield from self._complete(time)
                yield self._compaction(payload, time)
            case _:
                pass  # the header, and what is for the screen only

    def _inherited(self, kind: str, payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        """Yield what its parent was shown, as messages of the program: in the context, but none of its requests."""
        if kind == "compacted":
            yield self._compaction(payload, time)
        elif kind == "turn_context":
            yield from self._record(kind, payload, time, "")
        elif kind == "event_msg":
            total = payload.at("info", "total_token_usage")
            self._total = total or self._total
        elif kind == "response_item" and (parts := inherited_parts(payload)):
            yield self._message_to_model(parts, time)

    # What the model said and was told

    def _item(self, item: JsonValue, time: int | None, place: str) -> Iterator[Recorded]:
        kind = item.text("type")
        role = item.text("role")
        if kind in OUTPUTS:
            result = result_of(item, time, self.threads.result(item))
            if self._parts:
                self._held.append(result)
            else:
                yield result
        elif (
            kind in ANSWERS or (kind == "message" and role == "assistant") or ran_at_provider(item)
        ):
            yield from self._answered(item, time, place)
        elif kind == "message":
            yield from self._complete(time)
            yield self._told(item, role, time)
        elif kind == "agent_message":
            yield from self._complete(time)
            said, encrypted = agent_message(item)
            author = self.threads.known(item.get("author")) or None
            yield (message := self._message_to_model(said, time, author))
            if encrypted:
                yield GapRead(ENCRYPTED, message=message.id, chars=encrypted)
        elif kind not in SILENT:
            self._report(
                place, f"It is of the kind {kind!r}, which is not known, and was left out."
            )

    def _answered(self, item: JsonValue, time: int | None, place: str) -> Iterator[Recorded]:
        """Add an item to the answer that is being read; yields the answer before, where its results have come."""
        if self._held:  # the results belong to the request before
            yield from self._complete(time)
        if not self._parts:
            self._created = time
        if ran_at_provider(item):
            name = item.text("id") or f"{item.get('type')} {place}"
            item = JsonValue({**item.raw, "id": name})
            self._ran.append(provider_result(item, time))
        self._parts.extend(answer_part(item))
        self.threads.call(item)

    def _message(
        self,
        role: Literal["user", "assistant"],
        parts: tuple[Text | Thinking | Media | Call, ...],
        created: int | None,
        **more: Any,
    ) -> MessageRead:
        """Return the next message of the turn's model."""
        self._count += 1
        name = f"m{self._count}"
        self._order.append((name, role == "user" and not more["by_program"]))
        model, effort = self._model, self._effort
        return MessageRead(name, role, parts, created, model=model, effort=effort, **more)

    def _told(self, item: JsonValue, role: str, time: int | None) -> MessageRead:
        parts = message_parts(item.at("content"))
        words = words_of(parts)
        program = role != "user" or is_program(words)
        session = self.threads.words_of(words) if program else None
        return self._message_to_model(parts, time, session, by_program=program)

    def _message_to_model(
        self,
        parts: tuple[Text | Media, ...],
        time: int | None,
        session: str | None = None,
        *,
        by_program: bool = True,
    ) -> MessageRead:
        made = self._message("user", parts, time, by_program=by_program, session=session)
        self._said[words_of(parts)] = made.id
        return made

    def _complete(
        self,
        time: int | None,
        usage: Usage | None = None,
        finish: str | None = None,
    ) -> Iterator[Recorded]:
        """Yield the answer whose items have come, if any, and the results that wait for it."""
        if not self._parts:
            return
        more = {"completed": time, "usage": usage, "finish": finish}
        answer = self._message("assistant", tuple(self._parts), self._created, **more)
        self._unreported = answer.id if usage is None else None
        yield answer
        yield from self._ran
        yield from self._held
        self._parts, self._held, self._ran = [], [], []

    # What happened

    def _event(self, event: JsonValue, time: int | None) -> Iterator[Recorded]:
        self.threads.event(event)
        match event.get("type"):
            case "token_count":
                info = event.at("info")
                total = info.at("total_token_usage")
                if total and total.raw != self._total.raw:
                    before, self._total = self._total, total
                    last = info.at("last_token_usage")
                    yield from self._usage(usage_of(last, total, before, self._tier), time)
            case "turn_aborted":
                yield from self._complete(time, finish="aborted")
            case "thread_rolled_back":
                yield from self._complete(time)
                gone = self._last_turns(event.count("num_turns"))
                if gone:
                    yield RemovedRead(gone, created=time)
            case _:
                pass  # for the screen only

    def _usage(self, usage: Usage, time: int | None) -> Iterator[Recorded]:
        if self._parts:
            yield from self._complete(time, usage)
        elif self._unreported is not None:
            yield UsageRead(self._unreported, usage)
            self._unreported = None
        else:
            yield (answer := self._message("assistant", (), time, usage=usage))
            yield GapRead(NO_ANSWER, message=answer.id)

    def _last_turns(self, count: int) -> tuple[str, ...]:
        """Return the messages of the newest turns, and forget them."""
        begins = [at for at, (_, begins_turn) in enumerate(self._order) if begins_turn]
        if not count or not begins:
            return ()
        first = begins[-count] if count <= len(begins) else begins[0]
        gone = tuple(name for name, _ in self._order[first:])
        del self._order[first:]
        return gone

    def _compaction(self, payload: JsonValue, time: int | None) -> CompactionRead:
        summary = payload.text("message")
        kept = set()
        encrypted = False
        for item in payload.objects("replacement_history"):
            words = words_of(message_parts(item.at("content")))
            if words in self._said:
                kept.add(self._said[words])
            elif words and not summary:
                summary = words
            encrypted = encrypted or "encrypted_content" in item
        named = bool(payload.listed("replacement_history"))
        replaced = tuple(name for name, _ in self._order if name not in kept)
        self._count += 1
        name = f"m{self._count}"
        self._order = [(one, begins) for one, begins in self._order if one in kept]
        return CompactionRead(
            id=name,
            summary=None if encrypted and not summary else summary,
            replaced=replaced if named else None,
            created=time,
            model=self._model,
        )


def _normal(record: JsonValue) -> tuple[str, JsonValue]:
    """Return kind and payload of a record; the oldest rollouts have their items without either."""
    payload = record.at("payload")
    if isinstance(payload.raw, dict):
        return record.text("type"), payload
    if "instructions" in record and "type" not in record:
        return "session_meta", record
    return "response_item" if "type" in record else "", record
