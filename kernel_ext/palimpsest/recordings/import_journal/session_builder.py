"""Build the events of a transcript from the values of a recorded session, one value at a time.

Border: values in, events out; only the system prompt and the tools are written to the given store, as blobs. Open calls
are stored whole, of all else the ids alone, so that a recording of any size can be imported. Facts that are not recorded
are not invented: an answer without usage has no step-finish part, and a missing time is copied from the previous value
and marked as such.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

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
from palimpsest.recordings.import_journal.recorded_names import RecordedNames
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
from palimpsest.store.exchange.import_merge import CHARS_PER_TOKEN, IMPORT_RULE
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
from palimpsest.transcript.values import Usage

AGENT_NAME = "build"
"""The agent with which a fork of an imported session continues."""
MAX_ANSWERS = 1_000
"""Number of newest answers whose usage may still be reported."""
COPIED_SENTENCE = (
    "Its first {messages} with {requests} are in session {session} too, and are counted there."
)


class NotJournaled(ValueError):
    """Raised for a value that cannot be part of a session; the message gives the reason."""


class SessionBuilder:
    """Builds the events of each value of a session, and collects the session's title, sums and gaps."""

    def __init__(
        self, begin: SessionBegin, names: RecordedNames, store: Store, *, now_ms: int
    ) -> None:
        """``now_ms`` is the session's time where the recording has none."""
        self.facts = RecordingFacts(begin, names, store, now_ms=now_ms)
        self._names = names
        self._folder = MessagePath(cwd=begin.directory, root=begin.directory)
        self._calls = OpenCalls()
        self._prompt = ""
        """Id of the newest user message."""
        self._order: dict[str, None] = {}
        """The recorded ids of the messages that were not reverted, in order."""
        self._answers: OrderedDict[str, tuple[AssistantMessage, Spent | None]] = OrderedDict()
        """The newest answers by recorded id, with the usage that was counted for each."""
        self._summary_of: tuple[str, CompactionRead] | None = None
        """A compaction whose summary has not been read yet, after the id of its marker."""
        self._summarised: set[str] = set()
        """The compactions whose summary is a message of its own, which is removed with its marker."""
        self._decision_count = 0
        self._copied_messages = 0
        """Number of messages that another session holds too; 0 once it was reported."""
        self._copied_answers: set[str] = set()
        """The recorded ids of the answers that the other session counts."""
        self._has_copied_title = False
        """Whether the title was made from the other session's first prompt."""
        self.messages = 0
        """Number of messages, without the reverted ones."""

    # Values

    def events(self, value: Recorded) -> Iterator[Event]:
        """Yield the events of the next value; raises NotJournaled for a value that does not fit the session."""
        if not (isinstance(value, MessageRead) and value.is_summary):
            yield from self._missing_summary()
            self._summary_of = None
        if isinstance(value, SessionBegin):
            raise NotJournaled("A session begins inside another one.")
        if build := self._builders.get(type(value)):
            yield from build(self, value)
        if isinstance(value, MessageRead | CompactionRead):
            if value.id in self.facts.begin.copied_messages:
                self._copied_messages += 1
            else:
                self._note_copied()

    def _note_copied(self) -> None:
        """Add a sentence on the messages that another session holds too, once they are all read."""
        messages, requests = self._copied_messages, len(self._copied_answers)
        if messages:
            sentence = COPIED_SENTENCE.format(
                messages=f"{messages:,} messages" if messages > 1 else "message",
                requests=f"{requests:,} request{'' if requests == 1 else 's'}",
                session=self.facts.begin.branch_of,
            )
            self.facts.add_gap({"what": sentence})
            self._copied_messages = 0

    def closing_events(self) -> Iterator[Event]:
        """Yield the events that end open calls and summaries at the recording's end; a grown recording may add more."""
        yield from self._missing_summary()
        self._note_copied()
        for part in self._calls.unanswered():
            yield PartUpdated.unchecked(part=part)

    def forget_messages(self) -> None:
        """Forget the messages and calls, which only further values need; the session's facts stay."""
        self._order.clear()
        self._answers.clear()
        self._calls = OpenCalls()

    def _missing_summary(self) -> Iterator[Event]:
        if self._summary_of is not None:
            marker, compaction = self._summary_of
            yield from self._summary(marker, compaction, "")

    # Messages

    def _message(self, value: MessageRead) -> Iterator[Event]:
        if value.id in self._order:
            raise NotJournaled(
                f"Another message has the id {value.id!r} too; the first one was kept."
            )
        self.facts.set_model(value)
        if value.role == "user":
            yield from self._user(value)
        else:
            yield from self._answer(value)

    def _user(self, value: MessageRead) -> Iterator[Event]:
        created = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if not value.by_program and (not self.facts.title_so_far or self._has_copied_title):
            self.facts.title_so_far = title_of(value) or self.facts.title_so_far
            self._has_copied_title = is_copied
        subagent = self._names.other_session(value.session)
        facts = {"subagent": subagent, COPIED: is_copied or None}
        note = recording_note(value.id, has_time=value.created is not None, **facts)
        info = self._prompt_info(value.id, created, note, by_engine=value.by_program)
        yield MessageUpdated.unchecked(info=info)
        for index, part in enumerate(value.parts):
            if not isinstance(part, Call):
                ids = self._ids(info.id, str(index))
                yield PartUpdated.unchecked(
                    part=part_of(part, ids, created, synthetic=value.by_program)
                )

    def _prompt_info(
        self, recorded_id: str, created: int, note: Json, *, by_engine: bool
    ) -> UserMessage:
        """Count a new user message and return its info."""
        self._order[recorded_id] = None
        self.messages += 1
        self._prompt = self._names.message(recorded_id)
        return UserMessage(
            id=self._prompt,
            session_id=self._names.session,
            time=MessageTime(created=created),
            agent=AGENT_NAME,
            model=self.facts.model,
            origin=Origin(kind="engine") if by_engine else Origin(),
            **note,
        )

    def _answer(self, value: MessageRead) -> Iterator[Event]:
        created = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if is_copied:
            self._copied_answers.add(value.id)
            value = replace(value, usage=None, cost=None)
        parent = self._prompt
        if value.is_summary and self._summary_of is not None:
            parent = self._summary_of[0]
            self._summary_of = None
        note = recording_note(
            value.id,
            has_time=value.created is not None,
            client=value.client or None,
            cache_miss=value.cache_miss or None,
            sent=self.facts.sent_fields(value.captured_request),
            **{COPIED: is_copied or None},
        )
        info = AssistantMessage(
            id=self._names.message(value.id),
            session_id=self._names.session,
            parent_id=parent,
            time=MessageTime(created=created, completed=value.completed or created),
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
        self._order[value.id] = None
        self.messages += 1
        yield from self._answer_parts(value, info)
        if value.is_summary:
            yield SessionCompacted(message_id=info.id)
        self.facts.advance_time(value.completed)

    def _answer_parts(self, value: MessageRead, info: AssistantMessage) -> Iterator[Event]:
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(part=StepStartPart.unchecked(**self._ids(info.id, "start")))
        created = info.time.created
        for index, part in enumerate(value.parts):
            ids = self._ids(info.id, str(index))
            if isinstance(part, Call):
                for abandoned in self._calls.give_up_before(part.id):
                    yield PartUpdated.unchecked(part=abandoned)
                yield PartUpdated.unchecked(part=self._calls.add(part, ids, created))
            else:
                yield PartUpdated.unchecked(part=part_of(part, ids, created))
        spent = None
        if value.usage is not None:
            spent = self.facts.add_usage(value.usage, value.cost)
            yield PartUpdated.unchecked(part=self._step_finish(info))
        self._answers[value.id] = info, spent
        if len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)

    def _ids(self, message_id: str, position: str) -> Json:
        return {
            "id": self._names.part(message_id, position),
            "session_id": self._names.session,
            "message_id": message_id,
        }

    def _step_finish(self, info: AssistantMessage) -> StepFinishPart:
        usage, time = info.tokens, info.time
        duration_milliseconds = (time.completed or time.created) - time.created
        return StepFinishPart(
            **self._ids(info.id, "finish"),
            reason=info.finish or UNKNOWN_NAME,
            cost=info.cost,
            tokens=usage,
            seconds=duration_milliseconds / 1000 if duration_milliseconds > 0 else None,
            context_tokens=usage.prompt + usage.output + usage.reasoning,
            window=self.facts.begin.window,
        )

    # Calls

    def _result(self, value: ResultRead) -> Iterator[Event]:
        ended = self.facts.advance_time(value.ended if value.ended is not None else value.started)
        part = self._calls.end(value, ended, self._names.other_session(value.session))
        if part is None:
            has_result = self._calls.place_of_ended(value.call) is not None
            raise NotJournaled(
                f"The call {value.call!r} has a result already; the first one was kept."
                if has_result
                else f"There is a result of the call {value.call!r}, but no such call."
            )
        yield PartUpdated.unchecked(part=part)

    def _reduction_events(self, value: ReducedRead) -> Iterator[Event]:
        ended_call = self._calls.place_of_ended(value.call)
        if ended_call is None:
            raise NotJournaled(
                f"A reduction is about the call {value.call!r}, which has no result."
            )
        self._decision_count += 1
        decision_fields: Json = {"action": "restore"}
        if not value.restored:
            is_cut = bool(ended_call.first_chars) and value.shown_text.startswith(
                ended_call.first_chars
            )
            decision_fields = {
                "action": "truncate" if is_cut else "clear",
                "numbers": {"shown": value.shown_text, "rule": value.rule},
                "tokens_before": ended_call.chars // CHARS_PER_TOKEN,
                "tokens_after": len(value.shown_text) // CHARS_PER_TOKEN,
            }
        name = self._names.decision(ended_call.part_id, self._decision_count)
        part_ids = {"message_id": ended_call.message_id, "part_id": ended_call.part_id}
        yield DecisionMade(
            decision=Decision(id=name, rule=IMPORT_RULE, **part_ids, **decision_fields)
        )

    def _usage(self, value: UsageRead) -> Iterator[Event]:
        if value.message in self._copied_answers:
            return
        info, spent = self._answers.get(value.message, (None, None))
        if info is None:
            raise NotJournaled(f"Usage is reported of {value.message!r}, which is no known answer.")
        if spent is not None:
            self.facts.subtract_usage(spent)
        spent = self.facts.add_usage(value.usage, value.cost)
        info = info.model_copy(update={"tokens": value.usage, "cost": value.cost})
        self._answers[value.message] = info, spent
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(part=self._step_finish(info))

    # Messages that are no longer sent

    def _compaction(self, value: CompactionRead) -> Iterator[Event]:
        created = self.facts.advance_time(value.created)
        is_copied = value.id in self.facts.begin.copied_messages
        if is_copied:
            value = replace(value, usage=None)
        first_kept = self._first_kept(value)
        facts = {
            "tokens_before": value.tokens_before,
            "tokens_after": value.tokens_after,
            WRITTEN_BY: self._names.other_session(value.written_by),
            "replaced": None
            if value.replaced_messages is None
            else [self._names.message(name) for name in value.replaced_messages],
            COPIED: is_copied or None,
        }
        note = recording_note(value.id, has_time=value.created is not None, **facts)
        info = self._prompt_info(value.id, created, note, by_engine=True)
        yield MessageUpdated.unchecked(info=info)
        yield PartUpdated.unchecked(
            part=CompactionPart(
                **self._ids(info.id, "marker"),
                auto=value.is_automatic,
                tail_start_id=None if first_kept is None else self._names.message(first_kept),
            )
        )
        if value.summary is None:
            self._summary_of = info.id, value
        else:
            yield from self._summary(info.id, value, value.summary)

    def _first_kept(self, value: CompactionRead) -> str | None:
        """Return the recorded id of the first message that a compaction kept."""
        if value.keeps_from is not None:
            if value.keeps_from in self._order:
                return value.keeps_from
            self.facts.add_gap(
                {"what": "The first message that a compaction kept is not recorded."}
            )
            return None
        if value.replaced_messages is None:
            return None
        replaced, last_before = frozenset(value.replaced_messages), None
        for name in reversed(self._order):
            if name in replaced:
                break
            last_before = name
        return last_before

    def _summary(self, marker: str, value: CompactionRead, text: str) -> Iterator[Event]:
        is_missing, has_time = value.summary is None, value.created is not None
        info = AssistantMessage(
            id=self._names.message(f"{value.id}/summary"),
            session_id=self._names.session,
            parent_id=marker,
            time=MessageTime(created=self.facts.time, completed=self.facts.time),
            agent=AGENT_NAME,
            model=model_ref(value.model) if value.model else self.facts.model,
            path=self._folder,
            summary=True,
            tokens=value.usage or Usage(),
            finish="stop",
            **recording_note(value.id, has_time=has_time, not_recorded=is_missing or None),
        )
        self.messages += 1
        self._summarised.add(value.id)
        yield MessageUpdated.unchecked(info=info)
        if text:
            yield PartUpdated.unchecked(part=TextPart(**self._ids(info.id, "0"), text=text))
        if value.usage is not None:
            self.facts.add_usage(value.usage, None)
            yield PartUpdated.unchecked(part=self._step_finish(info))
        yield SessionCompacted(message_id=info.id)

    def _removal_events(self, value: RemovedRead) -> Iterator[Event]:
        self.facts.advance_time(value.created)
        for name in value.messages:
            if name in self._order:
                del self._order[name]
                self.messages -= 1
                yield MessageRemoved(message_id=self._names.message(name))
            if name in self._summarised:
                self._summarised.remove(name)
                self.messages -= 1
                yield MessageRemoved(message_id=self._names.message(f"{name}/summary"))

    # The session as a whole

    def _title(self, value: TitleRead) -> Iterator[Event]:
        if value.title:
            self.facts.title_so_far, self._has_copied_title = value.title, False
        return iter(())

    def _totals(self, value: TotalsRead) -> Iterator[Event]:
        self.facts.totals = value.totals
        return iter(())

    def _gap(self, value: GapRead) -> Iterator[Event]:
        gap_fields: Json = {"what": value.sentence, "call": value.call, "chars": value.chars}
        if value.message is not None:
            gap_fields["message"] = self._names.message(value.message)
        self.facts.add_gap({name: fact for name, fact in gap_fields.items() if fact is not None})
        part = None if value.call is None else self._calls.add_gap(value.call, value.sentence)
        if part is not None:
            yield PartUpdated.unchecked(part=part)

    _builders: ClassVar[Mapping[type, Callable[[Any, Any], Iterator[Event]]]] = {
        MessageRead: _message,
        ResultRead: _result,
        UsageRead: _usage,
        CompactionRead: _compaction,
        ReducedRead: _reduction_events,
        RemovedRead: _removal_events,
        GapRead: _gap,
        TitleRead: _title,
        TotalsRead: _totals,
    }
    """The method that builds the events of each type of value."""
