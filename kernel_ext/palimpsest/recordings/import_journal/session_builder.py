"""Build the events of a transcript from the values of a recorded session, one value at a time.

Border: values in, events out; only the system prompt and the tools are written to the given store, as blobs. Open calls
are stored whole; of all else only ids are stored, so that a recording of any size can be imported. Facts that are not recorded
are not invented: an answer without usage has no step-finish part, and a missing time is copied from the previous value
and marked as such.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from palimpsest.recordings.import_journal.derived_ids import DerivedIds
from palimpsest.recordings.import_journal.message_parts import (
    UNKNOWN_NAME,
    error_of,
    finish_of,
    model_ref,
    part_of,
    recording_note,
    title_of,
)
from palimpsest.recordings.import_journal.open_calls import OpenCalls
from palimpsest.recordings.import_journal.session_facts import RecordingFacts
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    Json,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    SessionBegin,
    TitleRead,
    TotalsRead,
    UsageRead,
)
from palimpsest.store.exchange.import_merge import IMPORT_RULE
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import (
    AssistantMessage,
    MessagePath,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import CompactionPart, StepFinishPart, StepStartPart, TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartUpdated,
    SessionCompacted,
)
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.timeline import COPIED, WRITTEN_BY
from palimpsest.transcript.values import CHARS_PER_TOKEN, Usage

AGENT_NAME = "build"
"""The agent with which a fork of an imported session continues."""
MAX_STORED_ANSWERS = 1_000
"""Maximum newest answers that are stored, since their usage may still be reported."""
COPIED_SENTENCE = (
    "Its first {messages} with {requests} are in session {session} too, and are counted there."
)


class NotJournaled(ValueError):
    """Raised for a value that cannot be part of a session; the message gives the reason."""


class SessionBuilder:
    """Builds the events of each value of a session, and collects the session's title, sums and gaps."""

    def __init__(
        self, begin: SessionBegin, derived_ids: DerivedIds, store: Store, *, now_ms: int
    ) -> None:
        """``now_ms`` is the session's time where the recording has none."""
        self.facts = RecordingFacts(begin, derived_ids, store, now_ms=now_ms)
        self._derived_ids = derived_ids
        self._folder = MessagePath(cwd=begin.directory, root=begin.directory)
        self._calls = OpenCalls()
        self._prompt_id = ""
        """Id of the newest user message."""
        self._unreverted_ids: dict[str, None] = {}
        """The recorded ids of the messages so far that were not reverted, in order."""
        self._newest_answers: OrderedDict[str, tuple[AssistantMessage, Spent | None]] = (
            OrderedDict()
        )
        """The newest answers by recorded id, each with the usage that was counted for it."""
        self._awaited_summary: tuple[str, CompactionRead] | None = None
        """The id of a compaction's marker, and the compaction, while its summary may still be read."""
        self._summarised_ids: set[str] = set()
        """Recorded ids of the compactions whose summary is a message of its own, which is removed with its marker."""
        self._decision_count = 0
        self._copied_message_count = 0
        """Number of messages that another session holds too; 0 once they were reported."""
        self._copied_answer_ids: set[str] = set()
        """The recorded ids of the answers that the other session counts."""
        self._has_copied_title = False
        """Whether the title was made from the other session's first prompt."""
        self.message_count = 0
        """Number of messages, without the reverted ones."""

    # Values

    def events(self, value: Recorded) -> Iterator[Event]:
        """Yield the events of the next value; raises NotJournaled for a value that does not fit the session."""
        if not (isinstance(value, MessageRead) and value.is_summary):
            yield from self._empty_summary_events()
            self._awaited_summary = None
        if isinstance(value, SessionBegin):
            raise NotJournaled("A session begins inside another one.")
        if build := self._builders.get(type(value)):
            yield from build(self, value)
        if isinstance(value, MessageRead | CompactionRead):
            if value.id in self.facts.begin.copied_messages:
                self._copied_message_count += 1
            else:
                self._report_copied()

    def _report_copied(self) -> None:
        """Add a sentence on the messages that another session holds too, once they are all read."""
        message_count, request_count = self._copied_message_count, len(self._copied_answer_ids)
        if message_count:
            sentence = COPIED_SENTENCE.format(
                messages=f"{message_count:,} messages" if message_count > 1 else "message",
                requests=f"{request_count:,} request{'' if request_count == 1 else 's'}",
                session=self.facts.begin.branch_of,
            )
            self.facts.add_gap({"what": sentence})
            self._copied_message_count = 0

    def closing_events(self) -> Iterator[Event]:
        """Yield the events that end open calls and summaries at the recording's end; a grown recording may add more."""
        yield from self._empty_summary_events()
        self._report_copied()
        for part in self._calls.unanswered_parts():
            yield PartUpdated.unchecked(part=part)

    def forget_messages(self) -> None:
        """Forget the messages and calls, which only further values need; the session's facts stay."""
        self._unreverted_ids.clear()
        self._newest_answers.clear()
        self._calls = OpenCalls()

    def _empty_summary_events(self) -> Iterator[Event]:
        if self._awaited_summary is not None:
            marker_id, compaction = self._awaited_summary
            yield from self._summary_events(marker_id, compaction, "")

    # Messages

    def _message_events(self, value: MessageRead) -> Iterator[Event]:
        if value.id in self._unreverted_ids:
            raise NotJournaled(
                f"Another message has the id {value.id!r} too; the first one was kept."
            )
        self.facts.set_model(value)
        if value.role == "user":
            yield from self._user_events(value)
        else:
            yield from self._answer_events(value)

    def _user_events(self, value: MessageRead) -> Iterator[Event]:
        created_ms = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if not value.by_program and (not self.facts.title_so_far or self._has_copied_title):
            self.facts.title_so_far = title_of(value) or self.facts.title_so_far
            self._has_copied_title = is_copied
        subagent_session_id = self._derived_ids.other_session_id(value.session)
        facts = {"subagent": subagent_session_id, COPIED: is_copied or None}
        note = recording_note(value.id, has_time=value.created is not None, **facts)
        info = self._add_prompt(value.id, created_ms, note, by_engine=value.by_program)
        yield MessageUpdated.unchecked(info=info)
        for index, part in enumerate(value.parts):
            if not isinstance(part, Call):
                ids = self._id_fields(info.id, str(index))
                yield PartUpdated.unchecked(
                    part=part_of(part, ids, created_ms, synthetic=value.by_program)
                )

    def _add_prompt(
        self, recorded_id: str, created_ms: int, note: Json, *, by_engine: bool
    ) -> UserMessage:
        """Count a new user message and return its info."""
        self._unreverted_ids[recorded_id] = None
        self.message_count += 1
        self._prompt_id = self._derived_ids.message_id(recorded_id)
        return UserMessage(
            id=self._prompt_id,
            session_id=self._derived_ids.session_id,
            time=MessageTime(created=created_ms),
            agent=AGENT_NAME,
            model=self.facts.model,
            origin=Origin(kind="engine") if by_engine else Origin(),
            **note,
        )

    def _answer_events(self, value: MessageRead) -> Iterator[Event]:
        created_ms = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if is_copied:
            self._copied_answer_ids.add(value.id)
            value = replace(value, usage=None, cost=None)
        parent_id = self._prompt_id
        if value.is_summary and self._awaited_summary is not None:
            parent_id = self._awaited_summary[0]
            self._awaited_summary = None
        note = recording_note(
            value.id,
            has_time=value.created is not None,
            client=value.client or None,
            cache_miss=value.cache_miss or None,
            sent=self.facts.store_sent_parts(value.captured_request),
            **{COPIED: is_copied or None},
        )
        info = AssistantMessage(
            id=self._derived_ids.message_id(value.id),
            session_id=self._derived_ids.session_id,
            parent_id=parent_id,
            time=MessageTime(created=created_ms, completed=value.completed or created_ms),
            agent=AGENT_NAME,
            model=self.facts.model,
            path=self._folder,
            error=error_of(value),
            summary=value.is_summary,
            cost=value.cost,
            tokens=value.usage or Usage(),
            finish=finish_of(value),
            **note,
        )
        self._unreverted_ids[value.id] = None
        self.message_count += 1
        yield from self._answer_part_events(value, info)
        if value.is_summary:
            yield SessionCompacted(message_id=info.id)
        self.facts.advance_time(value.completed)

    def _answer_part_events(self, value: MessageRead, info: AssistantMessage) -> Iterator[Event]:
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(
            part=StepStartPart.unchecked(**self._id_fields(info.id, "start"))
        )
        created_ms = info.time.created
        for index, part in enumerate(value.parts):
            ids = self._id_fields(info.id, str(index))
            if isinstance(part, Call):
                for abandoned_part in self._calls.give_up_before(part.id):
                    yield PartUpdated.unchecked(part=abandoned_part)
                yield PartUpdated.unchecked(part=self._calls.add(part, ids, created_ms))
            else:
                yield PartUpdated.unchecked(part=part_of(part, ids, created_ms))
        spent = None
        if value.usage is not None:
            spent = self.facts.add_usage(value.usage, value.cost)
            yield PartUpdated.unchecked(part=self._step_finish(info))
        self._newest_answers[value.id] = info, spent
        if len(self._newest_answers) > MAX_STORED_ANSWERS:
            self._newest_answers.popitem(last=False)

    def _id_fields(self, message_id: str, position: str) -> Json:
        return {
            "id": self._derived_ids.part_id(message_id, position),
            "session_id": self._derived_ids.session_id,
            "message_id": message_id,
        }

    def _step_finish(self, info: AssistantMessage) -> StepFinishPart:
        usage, time = info.tokens, info.time
        duration_ms = (time.completed or time.created) - time.created
        return StepFinishPart(
            **self._id_fields(info.id, "finish"),
            reason=info.finish or UNKNOWN_NAME,
            cost=info.cost,
            tokens=usage,
            seconds=duration_ms / 1000 if duration_ms > 0 else None,
            context_tokens=usage.prompt + usage.output + usage.reasoning,
            window=self.facts.begin.window,
        )

    # Calls

    def _result_events(self, value: ResultRead) -> Iterator[Event]:
        ended_ms = self.facts.advance_time(
            value.ended if value.ended is not None else value.started
        )
        part = self._calls.end(value, ended_ms, self._derived_ids.other_session_id(value.session))
        if part is None:
            has_result = self._calls.position_of_ended(value.call) is not None
            raise NotJournaled(
                f"The call {value.call!r} has a result already; the first one was kept."
                if has_result
                else f"There is a result of the call {value.call!r}, but no such call."
            )
        yield PartUpdated.unchecked(part=part)

    def _reduction_events(self, value: ReducedRead) -> Iterator[Event]:
        ended_call = self._calls.position_of_ended(value.call)
        if ended_call is None:
            raise NotJournaled(
                f"A reduction is about the call {value.call!r}, which has no result."
            )
        self._decision_count += 1
        decision_fields: Json = {"action": "restore"}
        if not value.restored:
            is_cut = bool(ended_call.output_beginning) and value.shown_text.startswith(
                ended_call.output_beginning
            )
            decision_fields = {
                "action": "truncate" if is_cut else "clear",
                "numbers": {"shown": value.shown_text, "rule": value.rule},
                "tokens_before": ended_call.output_chars // CHARS_PER_TOKEN,
                "tokens_after": len(value.shown_text) // CHARS_PER_TOKEN,
            }
        decision_id = self._derived_ids.decision_id(ended_call.part_id, self._decision_count)
        part_ids = {"message_id": ended_call.message_id, "part_id": ended_call.part_id}
        yield DecisionMade(
            decision=Decision(id=decision_id, rule=IMPORT_RULE, **part_ids, **decision_fields)
        )

    def _usage_events(self, value: UsageRead) -> Iterator[Event]:
        if value.message in self._copied_answer_ids:
            return
        info, spent = self._newest_answers.get(value.message, (None, None))
        if info is None:
            raise NotJournaled(f"Usage is reported of {value.message!r}, which is no known answer.")
        if spent is not None:
            self.facts.subtract_usage(spent)
        spent = self.facts.add_usage(value.usage, value.cost)
        info = info.model_copy(update={"tokens": value.usage, "cost": value.cost})
        self._newest_answers[value.message] = info, spent
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(part=self._step_finish(info))

    # Messages that are no longer sent

    def _compaction_events(self, value: CompactionRead) -> Iterator[Event]:
        created_ms = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if is_copied:
            value = replace(value, usage=None)
        first_kept_id = self._first_kept(value)
        facts = {
            "tokens_before": value.tokens_before,
            "tokens_after": value.tokens_after,
            WRITTEN_BY: self._derived_ids.other_session_id(value.written_by),
            "replaced": None
            if value.replaced_messages is None
            else [
                self._derived_ids.message_id(replaced_id) for replaced_id in value.replaced_messages
            ],
            COPIED: is_copied or None,
        }
        note = recording_note(value.id, has_time=value.created is not None, **facts)
        info = self._add_prompt(value.id, created_ms, note, by_engine=True)
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(
            part=CompactionPart(
                **self._id_fields(info.id, "marker"),
                auto=value.is_automatic,
                tail_start_id=None
                if first_kept_id is None
                else self._derived_ids.message_id(first_kept_id),
            )
        )
        if value.summary is None:
            self._awaited_summary = info.id, value
        else:
            yield from self._summary_events(info.id, value, value.summary)

    def _first_kept(self, value: CompactionRead) -> str | None:
        """Return the recorded id of the first message that a compaction kept."""
        if value.keeps_from is not None:
            if value.keeps_from in self._unreverted_ids:
                return value.keeps_from
            self.facts.add_gap(
                {"what": "The first message that a compaction kept is not recorded."}
            )
            return None
        if value.replaced_messages is None:
            return None
        replaced_ids, first_kept_id = frozenset(value.replaced_messages), None
        for message_id in reversed(self._unreverted_ids):
            if message_id in replaced_ids:
                break
            first_kept_id = message_id
        return first_kept_id

    def _summary_events(
        self, marker_id: str, value: CompactionRead, summary_text: str
    ) -> Iterator[Event]:
        is_missing, has_time = value.summary is None, value.created is not None
        info = AssistantMessage(
            id=self._derived_ids.message_id(f"{value.id}/summary"),
            session_id=self._derived_ids.session_id,
            parent_id=marker_id,
            time=MessageTime(created=self.facts.time_ms, completed=self.facts.time_ms),
            agent=AGENT_NAME,
            model=model_ref(value.model) if value.model else self.facts.model,
            path=self._folder,
            summary=True,
            tokens=value.usage or Usage(),
            finish="stop",
            **recording_note(value.id, has_time=has_time, not_recorded=is_missing or None),
        )
        self.message_count += 1
        self._summarised_ids.add(value.id)
        yield MessageUpdated.unchecked(info=info)
        if summary_text:
            yield PartUpdated.unchecked(
                part=TextPart(**self._id_fields(info.id, "0"), text=summary_text)
            )
        if value.usage is not None:
            self.facts.add_usage(value.usage, None)
            yield PartUpdated.unchecked(part=self._step_finish(info))
        yield SessionCompacted(message_id=info.id)

    def _removal_events(self, value: RemovedRead) -> Iterator[Event]:
        self.facts.advance_time(value.created)
        for message_id in value.messages:
            if message_id in self._unreverted_ids:
                del self._unreverted_ids[message_id]
                self.message_count -= 1
                yield MessageRemoved(message_id=self._derived_ids.message_id(message_id))
            if message_id in self._summarised_ids:
                self._summarised_ids.remove(message_id)
                self.message_count -= 1
                yield MessageRemoved(
                    message_id=self._derived_ids.message_id(f"{message_id}/summary")
                )

    # The session as a whole

    def _set_title(self, value: TitleRead) -> Iterator[Event]:
        if value.title:
            self.facts.title_so_far, self._has_copied_title = value.title, False
        return iter(())

    def _set_totals(self, value: TotalsRead) -> Iterator[Event]:
        self.facts.totals = value.totals
        return iter(())

    def _gap_events(self, value: GapRead) -> Iterator[Event]:
        gap_fields: Json = {"what": value.sentence, "call": value.call, "chars": value.chars}
        if value.message is not None:
            gap_fields["message"] = self._derived_ids.message_id(value.message)
        self.facts.add_gap({name: fact for name, fact in gap_fields.items() if fact is not None})
        part = None if value.call is None else self._calls.add_gap(value.call, value.sentence)
        if part is not None:
            yield PartUpdated.unchecked(part=part)

    _builders: ClassVar[Mapping[type, Callable[[Any, Any], Iterator[Event]]]] = {
        MessageRead: _message_events,
        ResultRead: _result_events,
        UsageRead: _usage_events,
        CompactionRead: _compaction_events,
        ReducedRead: _reduction_events,
        RemovedRead: _removal_events,
        GapRead: _gap_events,
        TitleRead: _set_title,
        TotalsRead: _set_totals,
    }
    """The method that builds the events of each type of value."""
