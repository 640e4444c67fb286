"""Make the timeline of a session from its log, whether it was recorded here or imported.

One pass over the records, which are not kept: an item holds its length and its digest, and its text is read
from the log when it is asked for. A message's items come when the next request is made, its calls before
their results, which is the order in which a request holds them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from palimpsest.review.importing.json_fields import JsonValue
from palimpsest.review.timeline.history_cut import HistoryCut
from palimpsest.review.timeline.item_states import ItemStates
from palimpsest.review.timeline.item_texts import ItemTexts
from palimpsest.review.timeline.message_items import ItemList, with_own_containers
from palimpsest.review.timeline.request_list import RequestList, context_changes
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import (
    StepRequest,
)
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
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
from palimpsest.transcript.timeline import (
    ASKED_FOR,
    WRITTEN_BY,
    RecordedTotals,
    Timeline,
)
from palimpsest.transcript.values import Price

SUBAGENT = "task"
"""Where a call's metadata name the session that it began."""
OPENCODE_SUBAGENT = "sessionId"
"""Where those of OpenCode's task tool do."""
LABEL_CHARS = 80
SESSION = frozenset({"session.created", "session.updated"})
READ = frozenset(
    {
        *SESSION,
        "message.updated",
        "message.removed",
        "message.part.updated",
        "message.part.removed",
        "message.part.delta",
        "decision",
        "step.requested",
    }
)
"""The types of records that a timeline is made of."""
CounterOf = Callable[[str], Callable[[str], int]]
PriceOfModel = Callable[[str], Price | None]


def timeline_of(
    store: Store,
    session_id: str,
    count: CounterOf | None = None,
    price: PriceOfModel = lambda _model: None,
) -> Timeline:
    """Return the timeline of a session; raises NotFound.

    ``count`` returns the counter of an estimator, ``price`` what a model costs, where the log does not say.
    """
    builder = TimelineBuilder(store, session_id, count, price)
    for record in store.read(session_id, only=SESSION):
        # What says that it was imported may come last.
        builder.take(record)
    for record in store.read(session_id, only=READ):
        builder.take(record)
    return builder.finished()


@dataclass(slots=True)
class _Open:
    """A message whose items are not made yet, or not all of them."""

    info: MessageInfo
    parts: dict[str, Part] = field(default_factory=dict)


class TimelineBuilder:
    """Collects items, requests and transitions from records."""

    def __init__(
        self, store: Store, session_id: str, count: CounterOf | None, price: PriceOfModel
    ) -> None:
        self.earlier: dict[str, Any] = {}
        """What was made of its timelines, for what is made of the next one."""
        self._session_id = session_id
        self._texts = ItemTexts(store, session_id, str)
        self._count = count
        self._price = price
        self._session: SessionInfo | None = None
        self._imported: dict[str, Any] = {}
        """What is noted of a session that was imported."""
        self._made = ItemList()
        self._requests = RequestList()
        self._states = ItemStates(self._made, self._requests)
        self._cut = HistoryCut(store)
        self._last: StepRequest | None = None
        """The newest request that was recorded when it was sent."""
        self._asked: dict[str, StepRequest] = {}
        """The first request for each summary."""
        self._open: dict[str, _Open] = {}
        self._infos: dict[str, MessageInfo] = {}
        self._markers: dict[str, CompactionPart] = {}
        self._subagents: dict[str, str] = {}

    @property
    def _origin(self) -> str:
        return str(self._imported.get("from", "palimpsest"))

    def take(self, record: Record) -> None:
        """Take one record."""
        self._texts.take(record)
        match record.event:
            case SessionCreated(session=session) | SessionUpdated(session=session):
                self._session = session
                imported = (session.metadata or {}).get("imported")
                if isinstance(imported, dict):
                    self._imported = imported
            case DecisionMade(decision=decision):
                self._states.decisions.append(decision)
            case StepRequested(request=request) if request.purpose == "step":
                self._sent(request, record.ts)
            case StepRequested(request=request) if request.purpose == "compaction":
                self._asked.setdefault(request.message_id or "", request)
            case event:
                self._take_content(event)

    def _take_content(self, event: Event) -> None:
        match event:
            case MessageUpdated(info=info):
                self._message(info)
            case PartUpdated(part=part):
                self._part(part)
            case PartDelta() as delta:
                self._delta(delta)
            case MessageRemoved(message_id=gone):
                self._states.removed.append(gone)
            case PartRemoved(message_id=message, part_id=gone):
                if message in self._open:
                    self._open[message].parts.pop(gone, None)
            case _:
                pass

    # Messages and parts

    def _message(self, info: MessageInfo) -> None:
        known = info.id in self._infos
        self._infos[info.id] = info
        if info.id in self._open:
            self._open[info.id].info = info
        elif not known:
            is_answer = isinstance(info, AssistantMessage) and not info.summary
            if is_answer and self._imported and self._origin != "palimpsest":
                # An answer of an imported session stands for a request.
                self._request(info)
            self._open[info.id] = _Open(info)
        told = (getattr(info, "imported", None) or {}).get("subagent")
        if isinstance(told, str):
            self._subagents[info.id] = told
        if isinstance(info, AssistantMessage):
            self._requests.answered(info)

    def _part(self, part: Part) -> None:
        if isinstance(part, CompactionPart):
            self._markers[part.message_id] = part
        if isinstance(part, ToolPart):
            said = getattr(part.state, "metadata", None) or {}
            begun = said.get(SUBAGENT, said.get(OPENCODE_SUBAGENT) if part.tool == "task" else None)
            if isinstance(begun, str):
                self._subagents[part.call_id] = begun
        at = self._open.get(part.message_id)
        if at is not None:
            at.parts[part.id] = part
        elif part.id in self._made.waiting and isinstance(part, ToolPart):
            self._made.waiting[part.id] = part

    def _delta(self, delta: PartDelta) -> None:
        at = self._open.get(delta.message_id)
        part = at.parts.get(delta.part_id) if at is not None else None
        if at is not None and delta.field == "text" and isinstance(part, TextPart | ReasoningPart):
            at.parts[part.id] = part.model_copy(update={"text": part.text + delta.delta})

    def _flush(self, but: str = "") -> None:
        """Make the items of all messages so far, except one."""
        self._made.entered = len(self._requests)
        self._made.add_results()
        for message_id in [one for one in self._open if one != but]:
            message = self._open.pop(message_id)
            info = message.info
            if isinstance(info, AssistantMessage) and info.summary:
                self._summary(info, message.parts.values())
            else:
                self._made.add_message(info, message.parts.values())

    def _summary(self, info: AssistantMessage, parts: Iterable[Part]) -> None:
        """Let a summary replace what it covers."""
        marker = self._markers.get(info.parent_id)
        covered = self._made.add_summary(info, parts, marker)
        asked = self._asked.get(info.id, self._last)
        prompt = _asked_for(self._cut.compact_policy(asked)) if asked is not None else {}
        if writer := _noted(_note_of(self._infos.get(info.parent_id)), WRITTEN_BY):
            prompt[WRITTEN_BY] = writer
        if covered is None and info.error is not None:
            covered = self._made.before_tail(marker)
        if covered is not None:
            self._states.take_summary(info, covered, marker, prompt)

    # Requests

    def _request(self, info: MessageInfo) -> None:
        """Begin the request that an imported answer stands for."""
        self._flush()
        window = self._imported.get("window")
        note = _note_of(info)
        self._begin(
            info,
            timed=note.get("timed") is not False,
            client=_noted(note, "client"),
            cache_miss=_noted(note, "cache_miss"),
            window=window if isinstance(window, int) else 0,
            seen="rebuilt",
            price=self._price(info.model.id),
        )

    def _sent(self, request: StepRequest, ts: int) -> None:
        """Begin a request that was recorded when it was sent."""
        info = self._infos.get(request.message_id or "")
        if info is None:
            return
        self._requests.forget(info.id)
        self._flush(but=info.id)
        for kind, blob in (("tools", request.tools), ("system", request.system)):
            replaced = self._made.add_section(kind, blob.sha256, request.kinds.get(kind, 0))
            if replaced is not None:
                self._states.show(replaced, "out", 0, f"another {kind}")
        self._last = request
        self._begin(
            info,
            cut=self._left_out(),
            window=request.facts.window,
            reserve=request.facts.reserve,
            price=request.model.price,
            listed=request.model.listed_as is not None,
            seen="partial" if request.opaque is not None else "exact",
            started=ts,
            system_hash=request.system.sha256,
            tools_hash=request.tools.sha256,
            output_limit=request.model.output_limit,
            input_limit=request.model.input_limit,
            caching=request.model.caching,
            estimator=request.facts.estimator,
            estimated=request.tokens,
            calibration=request.facts.calibration,
        )

    def _left_out(self) -> frozenset[str] | None:
        """Return the messages that a request like the newest would leave out now."""
        if self._last is None:
            return None
        return self._cut.left_out(self._last, self._infos, self._markers, self._states.undone)

    def _begin(self, info: MessageInfo, *, cut: frozenset[str] | None = None, **more: Any) -> None:
        self._states.take_changes(cut)
        self._requests.begin(info, self._made, **more)

    # The end

    def timeline(self) -> Timeline:
        """Return the timeline of what was taken so far; more may be taken after it."""
        return self._copied().finished()

    def _copied(self) -> "TimelineBuilder":
        """Return a copy whose last messages may be closed; only those of its parts that this changes are copied."""
        made = copy(self)
        items = with_own_containers(self._made)
        vars(made).update(_made=items, _states=self._states.copied(items), _open={**self._open})
        return made

    @property
    def settled(self) -> int:
        """How many items will never be made anew: those of messages that are closed."""
        return len(self._made.items)

    def finished(self) -> Timeline:
        """Close all messages and return the timeline; nothing may be taken after it."""
        self._flush()
        happened = [*self._states.events]
        self._states.take_changes(self._left_out())
        items = tuple(self._made.items)
        self._texts.ids = lambda index: items[index].id
        self._texts.blobs = self._made.blobs
        session = self._session
        requests = tuple(self._requests.finished(self._made))
        sent = len(requests)
        changes = context_changes(requests)
        events = [*happened, *changes]
        moves = self._states.transitions
        coming = bisect_left(moves, sent, key=lambda one: one.request)
        return Timeline(
            session=self._session_id,
            title=session.title if session is not None else "",
            origin=self._origin,
            items=items,
            requests=requests,
            transitions=tuple(moves[:coming]),
            coming=tuple(moves[coming:]),
            events=tuple(sorted(events, key=lambda one: one.request)),
            parent=session.parent_id if session is not None else None,
            started_by=str(self._imported["parent_call"])
            if self._imported.get("parent_call")
            else None,
            subagents=self._subagents,
            gaps=_gaps(self._imported.get("gaps"), self._imported.get("more_gaps")),
            recorded_totals=_totals(JsonValue(self._imported.get("totals"))),
            unread=_unread(self._imported.get("unread"), self._imported.get("more_unread")),
            read=self._texts,
            count=self._count,
            earlier=self.earlier,
        )


def _note_of(info: MessageInfo | None) -> dict[str, Any]:
    """Return what an importer noted with a message."""
    told = None if info is None else (info.model_extra or {}).get("imported")
    return told if isinstance(told, dict) else {}


def _noted(note: dict[str, Any], name: str) -> str:
    """Return a word that an importer noted; empty where it noted nothing."""
    found = note.get(name)
    return found if isinstance(found, str) else ""


def _asked_for(policy: CompactPolicy) -> dict[str, Any]:
    """Return how a policy has summaries written, as far as it differs from the usual way."""
    usual = CompactPolicy()
    return {
        name: getattr(policy, name)
        for name in ASKED_FOR
        if getattr(policy, name) != getattr(usual, name)
    }


def _gaps(gaps: Any, more: Any) -> tuple[str, ...]:
    """Return what a recording lacks, each sentence once, with how often it was said."""
    told = Counter(str(one["what"]) for one in _objects(gaps) if one.get("what"))
    found = [what if times == 1 else f"{what} ({times} times)" for what, times in told.items()]
    if isinstance(more, int) and more > 0:
        found.append(f"{more:,} more places are incomplete.")
    return tuple(found)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _totals(told: JsonValue) -> RecordedTotals:
    """Return what a recording tells of the whole; the log may be another program's, so that wrong numbers are left out."""
    cost, *counts = RecordedTotals._fields
    return RecordedTotals(told.cost(cost), *(told.token_field(one) for one in counts))


def _unread(places: Any, more: Any) -> tuple[str, ...]:
    """Return what could not be read of a recording, in sentences; the log may be another program's."""
    found = [
        f"{one['where']}: {one['what']}"
        for one in _objects(places)
        if one.get("where") and one.get("what")
    ]
    if isinstance(more, int) and more > 0:
        found.append(f"{more:,} more places could not be read.")
    return tuple(found)
