"""Read one rollout of Codex: one record a line, ``{timestamp, type, payload}``.

The model's messages and inputs are in ``response_item``; ``event_msg`` repeats them for the screen and is read for
usage, stops and rollbacks only. A usage report counts only where the total changed, since each is written twice.
``replacement_history`` is what the model is shown after a compaction.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from palimpsest.recordings.format_parts.codex_items import (
    CALL_TYPES,
    FORMAT,
    INHERITED_SENTENCE,
    OUTPUT_TYPES,
    ReportedUsage,
    agent_message,
    answer_parts,
    inherited_parts,
    is_written_by_codex,
    message_parts,
    provider_result,
    ran_at_provider,
    result_of,
)
from palimpsest.recordings.format_parts.codex_threads import NamedThreads, thread_header
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import (
    NO_ANSWER_SENTENCE,
    CompactionRead,
    GapRead,
    Media,
    MessagePart,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    UsageRead,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import discard_report, json_lines
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import Usage, priced_tier

MAX_SEARCHED_LINES = 200
"""Maximum lines at a rollout's beginning that are searched for the first model and its window."""
ANSWER_TYPES = CALL_TYPES | {"reasoning"}
NO_TOOLS_SENTENCE = "The tools are not in the recording."
COPIED_SENTENCE = "It may begin with requests of the session that began it; where its own requests begin is not recorded."
HEADER_LOST_SENTENCE = (
    "The header of the session is missing: its folder, version and instructions are not known."
)
ENCRYPTED_SENTENCE = "What one agent wrote to the other is encrypted."
IGNORED_TYPES = frozenset({"ghost_snapshot", "other", "compaction_trigger"})
"""Item types without content for the model."""


class CodexRollout:
    """Reads one rollout: joins the items of each answer, and adds the usage that is reported after it."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._provider = "openai"
        self._model = ""
        self._effort: str | None = None
        self._service_tier: str | None = None
        """The service tier of the turn, if it has a price of its own."""
        self._reports = ReportedUsage()
        self._message_count = 0
        self._parts: list[MessagePart] = []
        """Parts of the current answer, which is not complete yet."""
        self._answer_begun_ms: int | None = None
        self._waiting_results: list[Recorded] = []
        """Results that came before their answer was complete."""
        self._provider_results: list[ResultRead] = []
        """Results of calls that the provider ran in the current answer."""
        self._answer_id_without_usage: str | None = None
        """Id of the newest answer, while its usage may still be reported."""
        self._context_messages: list[tuple[str, bool]] = []
        """Ids of the messages in the context since the last compaction, each with whether it begins a turn."""
        self.threads = NamedThreads("")
        """The threads that the rollout names, complete after reading."""
        self._first_own_ordinal = 0
        """The ordinal of the rollout's first own record; earlier records are copied from its parent."""
        self._message_id_by_text: dict[str, str] = {}
        """Id of the newest message with each user text; a compaction gives kept messages by their text."""

    def read(self) -> Iterator[Recorded]:
        """Yield the values of the rollout's session."""
        has_begun = False
        for number, record in json_lines(self._path, self._report):
            record_type, payload = _type_and_payload(record)
            time_ms = record.time_ms("timestamp")
            if not has_begun:
                has_begun = True
                has_header = record_type == "session_meta"
                if not has_header:
                    self._report(f"line {number}", HEADER_LOST_SENTENCE)
                yield from self._begin_session(payload if has_header else NO_VALUE, time_ms)
            ordinal = record.get("ordinal")
            if isinstance(ordinal, int) and ordinal < self._first_own_ordinal:
                yield from self._read_parent_record(record_type, payload, time_ms)
                continue
            yield from self._read_record(record_type, payload, time_ms, f"line {number}")
        yield from self._complete_answer(None)

    def _begin_session(self, meta: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        self._provider = meta.text("model_provider") or self._provider
        model, window = self._first_model_and_window()
        instructions = meta.at("base_instructions")
        system_prompt = (
            instructions.get("text") if "text" in instructions else meta.get("instructions")
        )
        header = thread_header(meta, recorded_name(self._path.stem))
        self.threads.own_thread_id = header.thread_id
        self._first_own_ordinal = header.first_own_ordinal or 0
        created_ms = meta.time_ms("timestamp")
        yield SessionBegin(
            id=header.thread_id,
            format=FORMAT,
            format_version=meta.text("cli_version"),
            title=header.title,
            directory=meta.text("cwd"),
            created=created_ms if created_ms is not None else time_ms,
            model=model,
            window=window,
            system=system_prompt if isinstance(system_prompt, str) and system_prompt else None,
            parent=header.parent_id,
        )
        yield GapRead(NO_TOOLS_SENTENCE)
        if header.first_own_ordinal:
            yield GapRead(INHERITED_SENTENCE)
        elif header.has_copied_records:
            yield GapRead(COPIED_SENTENCE)
        if header.problem:
            self._report("line 1", header.problem)

    def _first_model_and_window(self) -> tuple[str, int | None]:
        model, window = "", None
        for number, record in json_lines(self._path, discard_report):
            record_type, payload = _type_and_payload(record)
            if record_type == "turn_context" and not model:
                model = self._full_model_name(payload)
            usage_info = payload if payload.get("model_context_window") else payload.at("info")
            window = window or usage_info.count("model_context_window") or None
            if (model and window) or number > MAX_SEARCHED_LINES:
                break
        return model, window

    def _full_model_name(self, context: JsonValue) -> str:
        name = context.text("model")
        return f"{self._provider}/{name}" if name else ""

    def _read_record(
        self, record_type: str, payload: JsonValue, time_ms: int | None, place: str
    ) -> Iterator[Recorded]:
        match record_type:
            case "response_item":
                yield from self._read_item(payload, time_ms, place)
            case "event_msg":
                yield from self._read_event(payload, time_ms)
            case "turn_context":
                self._model = self._full_model_name(payload) or self._model
                mode = payload.at("collaboration_mode", "settings")
                self._effort = payload.text("effort") or mode.text("reasoning_effort") or None
                self._service_tier = priced_tier(payload.get("service_tier"))
            case "compacted":
                yield from self._complete_answer(time_ms)
                yield self._read_compaction(payload, time_ms)
            case _:
                pass  # the header, and records for the screen only

    def _read_parent_record(
        self, record_type: str, payload: JsonValue, time_ms: int | None
    ) -> Iterator[Recorded]:
        """Yield a record copied from the parent as a message of the program: it is in the context, but is no request."""
        if record_type == "compacted":
            yield self._read_compaction(payload, time_ms)
        elif record_type == "turn_context":
            yield from self._read_record(record_type, payload, time_ms, "")
        elif record_type == "event_msg":
            self._reports.usage_of_event(payload)
        elif record_type == "response_item" and (parts := inherited_parts(payload)):
            yield self._message_to_model(parts, time_ms)

    # Messages of the model and to the model

    def _read_item(self, item: JsonValue, time_ms: int | None, place: str) -> Iterator[Recorded]:
        item_type = item.text("type")
        role = item.text("role")
        if item_type in OUTPUT_TYPES:
            result = result_of(item, time_ms, self.threads.thread_id_of_result(item))
            if self._parts:
                self._waiting_results.append(result)
            else:
                yield result
        elif (
            item_type in ANSWER_TYPES
            or (item_type == "message" and role == "assistant")
            or ran_at_provider(item)
        ):
            yield from self._add_to_answer(item, time_ms, place)
        elif item_type == "message":
            yield from self._complete_answer(time_ms)
            yield self._text_message(item, role, time_ms)
        elif item_type == "agent_message":
            yield from self._complete_answer(time_ms)
            parts, encrypted_chars = agent_message(item)
            author_id = self.threads.thread_id_of(item.get("author")) or None
            yield (message := self._message_to_model(parts, time_ms, author_id))
            if encrypted_chars:
                yield GapRead(ENCRYPTED_SENTENCE, message=message.id, chars=encrypted_chars)
        elif item_type not in IGNORED_TYPES:
            self._report(
                place, f"It is of the kind {item_type!r}, which is not known, and was left out."
            )

    def _add_to_answer(
        self, item: JsonValue, time_ms: int | None, place: str
    ) -> Iterator[Recorded]:
        """Add an item to the current answer; yield the previous answer first if its results have come already."""
        if self._waiting_results:  # the results belong to the request before
            yield from self._complete_answer(time_ms)
        if not self._parts:
            self._answer_begun_ms = time_ms
        if ran_at_provider(item):
            call_id = item.text("id") or f"{item.get('type')} {place}"
            item = JsonValue({**item.raw, "id": call_id})
            self._provider_results.append(provider_result(item, time_ms))
        self._parts.extend(answer_parts(item))
        self.threads.add_call(item)

    def _next_message(
        self,
        role: Literal["user", "assistant"],
        parts: tuple[MessagePart, ...],
        created_ms: int | None,
        **facts: Any,
    ) -> MessageRead:
        """Return the next message, added to the context, with the model and effort of its turn."""
        self._message_count += 1
        message_id = f"m{self._message_count}"
        self._context_messages.append((message_id, role == "user" and not facts["by_program"]))
        model, effort = self._model, self._effort
        return MessageRead(message_id, role, parts, created_ms, model=model, effort=effort, **facts)

    def _text_message(self, item: JsonValue, role: str, time_ms: int | None) -> MessageRead:
        parts = message_parts(item.at("content"))
        text = text_of_parts(parts)
        is_by_program = role != "user" or is_written_by_codex(text)
        ended_id = self.threads.ended_thread_id(text) if is_by_program else None
        return self._message_to_model(parts, time_ms, ended_id, by_program=is_by_program)

    def _message_to_model(
        self,
        parts: tuple[Text | Media, ...],
        time_ms: int | None,
        session_id: str | None = None,
        *,
        by_program: bool = True,
    ) -> MessageRead:
        message = self._next_message(
            "user", parts, time_ms, by_program=by_program, session=session_id
        )
        self._message_id_by_text[text_of_parts(parts)] = message.id
        return message

    def _complete_answer(
        self, time_ms: int | None, usage: Usage | None = None, finish: str | None = None
    ) -> Iterator[Recorded]:
        """Yield the current answer, if there is one, and the results that came before it was complete."""
        if not self._parts:
            return
        facts = {"completed": time_ms, "usage": usage, "finish": finish}
        answer = self._next_message("assistant", tuple(self._parts), self._answer_begun_ms, **facts)
        self._answer_id_without_usage = answer.id if usage is None else None
        yield answer
        yield from self._provider_results
        yield from self._waiting_results
        self._parts, self._waiting_results, self._provider_results = [], [], []

    # Other events

    def _read_event(self, event: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        self.threads.add_event(event)
        match event.get("type"):
            case "token_count":
                if usage := self._reports.usage_of_event(event, self._service_tier):
                    yield from self._add_usage(usage, time_ms)
            case "turn_aborted":
                yield from self._complete_answer(time_ms, finish="aborted")
            case "thread_rolled_back":
                yield from self._complete_answer(time_ms)
                if removed_ids := self._remove_last_turns(event.count("num_turns")):
                    yield RemovedRead(removed_ids, created=time_ms)
            case _:
                pass  # for the screen only

    def _add_usage(self, usage: Usage, time_ms: int | None) -> Iterator[Recorded]:
        if self._parts:
            yield from self._complete_answer(time_ms, usage)
        elif self._answer_id_without_usage is not None:
            yield UsageRead(self._answer_id_without_usage, usage)
            self._answer_id_without_usage = None
        else:
            yield (answer := self._next_message("assistant", (), time_ms, usage=usage))
            yield GapRead(NO_ANSWER_SENTENCE, message=answer.id)

    def _remove_last_turns(self, count: int) -> tuple[str, ...]:
        """Remove the newest turns from the context, and return the ids of their messages."""
        context_messages = self._context_messages
        turn_starts = [
            index for index, (_, begins_turn) in enumerate(context_messages) if begins_turn
        ]
        if not count or not turn_starts:
            return ()
        first_removed = turn_starts[-min(count, len(turn_starts))]
        self._context_messages = context_messages[:first_removed]
        return tuple(message_id for message_id, _ in context_messages[first_removed:])

    def _read_compaction(self, payload: JsonValue, time_ms: int | None) -> CompactionRead:
        summary = payload.text("message")
        kept_ids = set()
        is_encrypted = False
        for item in payload.objects("replacement_history"):
            text = text_of_parts(message_parts(item.at("content")))
            if text in self._message_id_by_text:
                kept_ids.add(self._message_id_by_text[text])
            elif text and not summary:
                summary = text
            is_encrypted = is_encrypted or "encrypted_content" in item
        has_history = bool(payload.list_at("replacement_history"))
        replaced_ids = tuple(
            message_id for message_id, _ in self._context_messages if message_id not in kept_ids
        )
        self._message_count += 1
        message_id = f"m{self._message_count}"
        self._context_messages = [
            (message_id, begins_turn)
            for message_id, begins_turn in self._context_messages
            if message_id in kept_ids
        ]
        return CompactionRead(
            id=message_id,
            summary=None if is_encrypted and not summary else summary,
            replaced_messages=replaced_ids if has_history else None,
            created=time_ms,
            model=self._model,
        )


def _type_and_payload(record: JsonValue) -> tuple[str, JsonValue]:
    """Return type and payload of a record; in the oldest rollouts the record itself is the payload."""
    payload = record.at("payload")
    if isinstance(payload.raw, dict):
        return record.text("type"), payload
    if "instructions" in record and "type" not in record:
        return "session_meta", record
    return "response_item" if "type" in record else "", record
