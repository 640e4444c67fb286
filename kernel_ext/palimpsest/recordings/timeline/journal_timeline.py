"""Build the timeline of a session from its log, for recorded and imported sessions.

The records are read in one pass and not stored: an item contains its length and its digest, and its text stays beside it
(``item_texts.py``). The items of a message are added when the next request is made, calls before their results, in the
order in which a request contains them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import SUBAGENT_KEY
from palimpsest.recordings.timeline.cache_marks import SentMessages, captured_marks, mark_fields
from palimpsest.recordings.timeline.history_cut import HistoryCut
from palimpsest.recordings.timeline.item_states import ItemStates
from palimpsest.recordings.timeline.item_texts import ItemTexts
from palimpsest.recordings.timeline.message_items import ItemList, with_own_containers
from palimpsest.recordings.timeline.request_list import RequestList, context_changes
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    ToolPending,
)
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartRemoved,
    PartUpdated,
    Record,
    SessionCreated,
    SessionUpdated,
    StepRequested,
)
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.timeline import ASKED_FOR, COPIED, WRITTEN_BY, RecordedTotals, Timeline
from palimpsest.transcript.values import CHARS_PER_TOKEN, Price

OPENCODE_SUBAGENT_KEY = "sessionId"
"""The same key in OpenCode's task tool."""

SESSION_EVENTS = frozenset({"session.created", "session.updated"})
TIMELINE_EVENTS = frozenset(
    {
        *SESSION_EVENTS,
        "message.updated",
        "message.removed",
        "message.part.updated",
        "message.part.removed",
        "message.part.delta",
        "decision",
        "step.requested",
    }
)
"""The types of records from which a timeline is built."""
CounterOf = Callable[[str], Callable[[str], int]]
"""Returns the function that counts a text's tokens, by the estimator's name."""
PriceOfModel = Callable[[str], Price | None]
"""Returns the price of a model, by the model's id; None where it is not known."""


def timeline_of(
    store: Store,
    session_id: str,
    count: CounterOf | None = None,
    price: PriceOfModel = lambda _model: None,
    *,
    own_only: bool = False,
) -> Timeline:
    """Return the timeline of a session; raises NotFound.

    ``count`` returns the counter of an estimator, ``price`` the price of a model where the log has none. With ``own_only``
    a fork's timeline is without the requests and compactions of the session that it was forked from.
    """
    builder = TimelineBuilder(store, session_id, count, price, own_only=own_only)
    for record in store.read(session_id, only=SESSION_EVENTS):
        # The record with the note that the session was imported may come last.
        builder.add_record(record)
    for record in store.read(session_id, only=TIMELINE_EVENTS):
        builder.add_record(record)
    return builder.finish()


@dataclass(slots=True)
class _OpenMessage:
    """A message whose items were not added yet."""

    info: MessageInfo
    parts: dict[str, Part] = field(default_factory=dict)


class TimelineBuilder:
    """Collects items, requests and transitions from records."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        count: CounterOf | None,
        price: PriceOfModel,
        *,
        own_only: bool = False,
    ) -> None:
        self.earlier: dict[str, Any] = {}
        """Values derived from the builder's earlier timelines, for the next timeline."""
        self._session_id = session_id
        self._texts = ItemTexts(store, session_id, str, collects_texts=True)
        self._counter_of = count
        self._price = cache(price)
        self._session: SessionInfo | None = None
        self._import_note: dict[str, Any] = {}
        """The notes about the recording of an imported session."""
        self._item_list = ItemList()
        self._requests = RequestList()
        self._states = ItemStates(self._item_list, self._requests)
        self._history_cut = HistoryCut(store)
        self._newest_request: StepRequest | None = None
        """The newest request that was recorded when it was sent."""
        self._sent_messages = SentMessages()
        self._request_by_summary: dict[str, StepRequest] = {}
        """The first request for each summary, by the id of the summary's message."""
        self._open_messages: dict[str, _OpenMessage] = {}
        self._info_by_id: dict[str, MessageInfo] = {}
        self._marker_by_message: dict[str, CompactionPart] = {}
        """The marker of each compaction, by the id of its message."""
        self._subagent_by_cause: dict[str, str] = {}
        """Session ids of subagents, by the id of the call that started each, or of the message with its result."""
        self._own_only = own_only
        self._fork_seq = 0
        """Number of the last record that a fork shares with the session that it was forked from."""
        self._copied_ids: set[str] = set()
        """Ids of the messages that count in another session."""
        self._section_hashes: dict[str, Any] = {}
        """Of an imported session: the hashes of the system prompt and tools that were captured last."""

    @property
    def _origin(self) -> str:
        return str(self._import_note.get("from", "palimpsest"))

    def add_record(self, record: Record) -> None:
        """Process one record."""
        self._texts.update(record)
        if isinstance(record.event, StepRequested):
            self._sent_messages.add_request(record.event.request)
        match record.event:
            case PartUpdated(part=part):
                self._add_part(part)
            case SessionCreated(session=session) | SessionUpdated(session=session):
                self._add_session(session)
            case DecisionMade(decision=decision):
                self._states.pending_decisions.append(decision)
            case StepRequested() if self._is_before_fork(record):
                pass
            case StepRequested(request=request) if request.purpose == "step":
                self._begin_request(request, record.ts)
            case StepRequested(request=request) if request.purpose == "compaction":
                self._request_by_summary.setdefault(request.message_id or "", request)
            case event:
                if isinstance(event, MessageUpdated) and (
                    self._is_before_fork(record) or _note_of(event.info).get(COPIED)
                ):
                    self._copied_ids.add(event.info.id)
                self._add_content(event)

    def _add_session(self, session: SessionInfo) -> None:
        self._session = session
        if session.id == self._session_id and session.forked_from is not None:
            self._fork_seq = session.forked_from.seq
        imported = (session.metadata or {}).get("imported")
        if isinstance(imported, dict):
            self._import_note = imported

    def _is_before_fork(self, record: Record) -> bool:
        """Return whether a fork shares a record with the session that it was forked from, which counts it."""
        return self._own_only and record.seq <= self._fork_seq

    def _add_content(self, event: Event) -> None:
        match event:
            case MessageUpdated(info=info):
                self._add_or_update_message(info)
            case PartDelta() as delta:
                self._add_delta(delta)
            case MessageRemoved(message_id=message_id):
                self._states.removed_ids.append(message_id)
            case PartRemoved(message_id=message_id, part_id=part_id):
                if message_id in self._open_messages:
                    self._open_messages[message_id].parts.pop(part_id, None)
            case _:
                pass

    # Messages and parts

    def _add_or_update_message(self, info: MessageInfo) -> None:
        is_known_message = info.id in self._info_by_id
        self._info_by_id[info.id] = info
        if info.id in self._open_messages:
            self._open_messages[info.id].info = info
        elif not is_known_message:
            is_answer = isinstance(info, AssistantMessage) and not info.summary
            is_of_other_agent = self._import_note and self._origin != "palimpsest"
            if is_answer and is_of_other_agent and info.id not in self._copied_ids:
                # An answer of an imported session counts as a request.
                self._begin_imported_request(info)
            self._open_messages[info.id] = _OpenMessage(info)
        subagent_id = _note_of(info).get("subagent")
        if isinstance(subagent_id, str):
            self._subagent_by_cause[info.id] = subagent_id
        if isinstance(info, AssistantMessage):
            self._requests.set_answer(info)

    def _add_part(self, part: Part) -> None:
        if isinstance(part, CompactionPart):
            self._marker_by_message[part.message_id] = part
        if isinstance(part, ToolPart):
            metadata = {} if isinstance(part.state, ToolPending) else part.state.metadata
            subagent_id = metadata.get(
                SUBAGENT_KEY, metadata.get(OPENCODE_SUBAGENT_KEY) if part.tool == "task" else None
            )
            if isinstance(subagent_id, str):
                self._subagent_by_cause[part.call_id] = subagent_id
        message = self._open_messages.get(part.message_id)
        if message is not None:
            message.parts[part.id] = part
        elif part.id in self._item_list.call_by_waiting_part and isinstance(part, ToolPart):
            self._item_list.update_waiting(part)

    def _add_delta(self, delta: PartDelta) -> None:
        message = self._open_messages.get(delta.message_id)
        part = message.parts.get(delta.part_id) if message is not None else None
        if message and delta.field == "text" and isinstance(part, TextPart | ReasoningPart):
            message.parts[part.id] = part.model_copy(update={"text": part.text + delta.delta})

    def _close_messages(self, except_id: str = "") -> None:
        """Add the items of all messages so far, except those of ``except_id``."""
        self._item_list.next_request = len(self._requests)
        self._item_list.add_results()
        for message_id in [
            message_id for message_id in self._open_messages if message_id != except_id
        ]:
            message = self._open_messages.pop(message_id)
            info = message.info
            if isinstance(info, AssistantMessage) and info.summary:
                self._add_summary(info, message.parts.values())
            else:
                self._item_list.add_message(
                    info, message.parts.values(), is_copied=info.id in self._copied_ids
                )

    def _add_summary(self, info: AssistantMessage, parts: Iterable[Part]) -> None:
        """Add a summary, which replaces the items that it covers."""
        marker = self._marker_by_message.get(info.parent_id)
        covered_indexes = self._item_list.add_summary(info, parts, marker)
        request = self._request_by_summary.get(info.id, self._newest_request)
        settings: dict[str, Any] = {}
        if request is not None:
            settings = _summary_settings(self._history_cut.compact_policy(request))
        marker_note = _note_of(self._info_by_id.get(info.parent_id))
        if writer_id := _note_text(marker_note, WRITTEN_BY):
            settings[WRITTEN_BY] = writer_id
        if covered_indexes is None and info.error is not None:
            covered_indexes = self._item_list.indexes_before_tail(marker)
        if covered_indexes is not None:
            self._states.add_summary(info, covered_indexes, marker, settings)
            if info.parent_id in self._copied_ids:
                self._states.events.pop()  # it is counted in the session that holds it too

    # Requests

    def _begin_imported_request(self, info: MessageInfo) -> None:
        """Add the request of an imported answer, which is not recorded by itself."""
        self._close_messages()
        window = self._import_note.get("window")
        note = _note_of(info)
        captured_request = JsonValue(note.get("sent"))
        for section in ("tools", "system"):
            if sha256 := captured_request.text(section, "sha256"):
                self._add_section(section, sha256, captured_request.count(section, "chars"))
                self._section_hashes[f"{section}_hash"] = sha256
        self._list_request(
            info,
            has_time=note.get("timed") is not False,
            client=_note_text(note, "client"),
            cache_miss=_note_text(note, "cache_miss"),
            window=window if isinstance(window, int) else 0,
            seen="captured" if captured_request else "rebuilt",
            price=self._price(info.model.id),
            **mark_fields(captured_marks(captured_request, self._item_list)),
            **self._section_hashes,
        )

    def _begin_request(self, request: StepRequest, started_ms: int) -> None:
        """Add a request that was recorded when it was sent."""
        info = self._info_by_id.get(request.message_id or "")
        if info is None:
            return
        self._requests.remove_newest_if_repeated(info.id)
        self._close_messages(except_id=info.id)
        for section, blob in (("tools", request.tools), ("system", request.system)):
            self._add_section(section, blob.sha256, CHARS_PER_TOKEN * request.kinds.get(section, 0))
        self._newest_request = request
        marks = self._sent_messages.placed_marks(request, self._item_list)
        self._list_request(
            info,
            **mark_fields(marks),
            left_out_ids=self._left_out_ids(),
            window=request.facts.window,
            reserve=request.facts.reserve,
            price=request.model.price,
            listed=request.model.listed_as is not None,
            seen="partial" if request.opaque is not None else "exact",
            started_ms=started_ms,
            system_hash=request.system.sha256,
            tools_hash=request.tools.sha256,
            output_limit=request.model.output_limit,
            input_limit=request.model.input_limit,
            caching=request.model.caching,
            estimator=request.facts.estimator,
            estimated=request.tokens,
            calibration=request.facts.calibration,
        )

    def _add_section(self, section: str, sha256: str, chars: int) -> None:
        """Add a system prompt or tools, which replace those of the request before."""
        replaced_index = self._item_list.add_section(section, sha256, chars)
        if replaced_index is not None:
            self._states.add_transition(replaced_index, "out", 0, f"another {section}")

    def _left_out_ids(self) -> frozenset[str] | None:
        """Return the ids that a request would leave out now, as ``HistoryCut.left_out_ids`` does for the newest policy."""
        if self._newest_request is None:
            return None
        return self._history_cut.left_out_ids(
            self._newest_request,
            self._info_by_id,
            self._marker_by_message,
            self._states.undone_summary_ids,
        )

    def _list_request(
        self, info: MessageInfo, *, left_out_ids: frozenset[str] | None = None, **facts: Any
    ) -> None:
        self._states.apply_changes(left_out_ids)
        self._requests.begin_request(info, self._item_list, **facts)

    # The end

    def timeline(self) -> Timeline:
        """Return the timeline of the records so far; further records may be added."""
        return self._copy().finish()

    def _copy(self) -> "TimelineBuilder":
        """Return a copy whose open messages can be closed; only what closing changes is copied."""
        duplicate = copy(self)
        items = with_own_containers(self._item_list)
        vars(duplicate).update(
            _item_list=items,
            _states=self._states.copy(items),
            _open_messages={**self._open_messages},
        )
        return duplicate

    @property
    def settled_item_count(self) -> int:
        """Number of items that will never change: those of closed messages."""
        return len(self._item_list.items)

    def finish(self) -> Timeline:
        """Close all messages and return the timeline; no further record may be added."""
        self._close_messages()
        recorded_events = [*self._states.events]
        self._states.apply_changes(self._left_out_ids())
        items = tuple(self._item_list.items)
        self._texts.id_of_index = lambda index: items[index].id
        self._texts.blob_by_item = self._item_list.blob_by_item
        session = self._session
        requests = tuple(self._requests.finished_requests(self._item_list))
        events = [*recorded_events, *context_changes(requests)]
        transitions = self._states.transitions
        coming_start = bisect_left(
            transitions, len(requests), key=lambda transition: transition.request
        )
        return Timeline(
            session=self._session_id,
            title=session.title if session is not None else "",
            origin=self._origin,
            items=items,
            requests=requests,
            transitions=tuple(transitions[:coming_start]),
            coming=tuple(transitions[coming_start:]),
            events=tuple(sorted(events, key=lambda event: event.request)),
            parent=session.parent_id if session is not None else None,
            started_by=str(self._import_note.get("parent_call") or "") or None,
            subagents=self._subagent_by_cause,
            gaps=_gap_sentences(JsonValue(self._import_note)),
            recorded_totals=_totals(JsonValue(self._import_note.get("totals"))),
            unread=_unread_sentences(JsonValue(self._import_note)),
            read=self._texts,
            count=self._counter_of,
            earlier=self.earlier,
        )


def _note_of(info: MessageInfo | None) -> dict[str, Any]:
    """Return the note that an importer added to a message."""
    note = None if info is None else (info.model_extra or {}).get("imported")
    return note if isinstance(note, dict) else {}


def _note_text(note: dict[str, Any], name: str) -> str:
    """Return a text field of an importer's note; empty where the note lacks it."""
    text = note.get(name)
    return text if isinstance(text, str) else ""


def _summary_settings(policy: CompactPolicy) -> dict[str, Any]:
    """Return a policy's settings for writing summaries, as far as they differ from the defaults."""
    defaults = CompactPolicy()
    settings = {key: getattr(policy, key) for key in ASKED_FOR}
    return {key: value for key, value in settings.items() if value != getattr(defaults, key)}


def _gap_sentences(note: JsonValue) -> tuple[str, ...]:
    """Return the gaps of a recording, each sentence once with its count."""
    gap_counts = Counter(str(gap.get("what")) for gap in note.objects("gaps") if gap.get("what"))
    sentences = [
        sentence if count == 1 else f"{sentence} ({count} times)"
        for sentence, count in gap_counts.items()
    ]
    if unlisted_count := note.count("more_gaps"):
        sentences.append(f"{unlisted_count:,} more places are incomplete.")
    return tuple(sentences)


def _totals(totals: JsonValue) -> RecordedTotals:
    """Return the totals that a recording states, without wrong numbers: another program may have written the log."""
    cost, *counts = RecordedTotals._fields
    return RecordedTotals(totals.cost(cost), *(totals.token_field(field) for field in counts))


def _unread_sentences(note: JsonValue) -> tuple[str, ...]:
    """Return the unreadable places of a recording as sentences; another program may have written the log."""
    sentences = [
        f"{place.get('where')}: {place.get('what')}"
        for place in note.objects("unread")
        if place.get("where") and place.get("what")
    ]
    if unlisted_count := note.count("more_unread"):
        sentences.append(f"{unlisted_count:,} more places could not be read.")
    return tuple(sentences)
