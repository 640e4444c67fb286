"""Make the timeline of a session from its log, whether it was recorded here or imported.

One pass over the records, which are not kept: an item holds its length and its digest, and its text is read
from the log when it is asked for. A message's items come when the next request is made, its calls before
their results, which is the order in which a request holds them.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.review.timeline.item_decisions import ItemDecisions
from palimpsest.review.timeline.item_texts import ItemTexts
from palimpsest.review.timeline.message_items import ItemList, part_of
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import (
    UNDO,
    Decision,
    StepRequest,
    is_of_own_policy,
)
from palimpsest.transcript.errors import ContextOverflowError
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
    ItemState,
    RequestStatus,
    Timeline,
    TimelineEvent,
    TimelineItem,
    TimelineRequest,
    Transition,
)
from palimpsest.transcript.values import Price

SUBAGENT = "task"
"""Where a call's metadata name the session that it began."""
LABEL_CHARS = 80
_STATES: dict[str, ItemState] = {"truncate": "truncated", "clear": "cleared", "drop": "out"}
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


def timeline_of(
    store: Store,
    session_id: str,
    count: Callable[[str], Callable[[str], int]] | None = None,
    price: Callable[[str], Price | None] = lambda _model: None,
) -> Timeline:
    """Return the timeline of a session; raises NotFound.

    ``count`` returns the counter of an estimator, ``price`` what a model costs, where the log does not say.
    """
    builder = _Builder(price)
    for record in store.read(session_id, only=SESSION):
        # What says that it was imported may come last.
        builder.take(record)
    for record in store.read(session_id, only=READ):
        builder.take(record)
    return builder.timeline(store, session_id, count)


@dataclass(slots=True)
class _Open:
    """A message whose items are not made yet, or not all of them."""

    info: MessageInfo
    parts: dict[str, Part] = field(default_factory=dict)


@dataclass(slots=True)
class _Request:
    """A request whose answer may still come."""

    made: TimelineRequest
    message: str


class _Builder:
    """Collects items, requests and transitions from records."""

    def __init__(self, price: Callable[[str], Price | None]) -> None:
        self._price = price
        self._session: SessionInfo | None = None
        self._imported: dict[str, Any] = {}
        """What is noted of a session that was imported."""
        self._made = ItemList()
        self._requests: list[_Request] = []
        self._transitions: list[Transition] = []
        self._events: list[TimelineEvent] = []
        self._open: dict[str, _Open] = {}
        self._infos: dict[str, MessageInfo] = {}
        self._decisions: list[Decision] = []
        """Those whose items were not looked at yet."""
        self._decided = ItemDecisions()
        self._reduced: dict[int, Decision | None] = {}
        """The reduction under which each item is shown."""
        self._markers: dict[str, CompactionPart] = {}
        self._removed: list[str] = []
        self._subagents: dict[str, str] = {}

    @property
    def _origin(self) -> str:
        return str(self._imported.get("from", "palimpsest"))

    def take(self, record: Record) -> None:
        """Take one record."""
        match record.event:
            case SessionCreated(session=session) | SessionUpdated(session=session):
                self._session = session
                imported = (session.metadata or {}).get("imported")
                if isinstance(imported, dict):
                    self._imported = imported
            case DecisionMade(decision=decision):
                self._decisions.append(decision)
            case StepRequested(request=request) if request.purpose == "step":
                self._sent(request, record.ts)
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
                self._removed.append(gone)
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
            if self._asks(info):
                self._request(info)
            self._open[info.id] = _Open(info)
        if isinstance(info, AssistantMessage):
            self._answered(info)

    def _asks(self, info: MessageInfo) -> bool:
        """Return whether an answer of an imported session stands for a request."""
        is_answer = isinstance(info, AssistantMessage) and not info.summary
        return is_answer and bool(self._imported) and self._origin != "palimpsest"

    def _part(self, part: Part) -> None:
        if isinstance(part, CompactionPart):
            self._markers[part.message_id] = part
        if isinstance(part, ToolPart):
            begun = (getattr(part.state, "metadata", None) or {}).get(SUBAGENT)
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
        if covered is None:
            return
        for one in covered:
            self._show(one, "summarised", 0, "compact")
        numbers = {"covers": len(covered), "summary": info.id}
        cause = "automatic" if marker is None or marker.auto else "by hand"
        self._events.append(TimelineEvent(len(self._requests), "compact", cause, numbers))

    # Requests

    def _request(self, info: MessageInfo) -> None:
        """Begin the request that an imported answer stands for."""
        self._flush()
        window = self._imported.get("window")
        told = (info.model_extra or {}).get("imported")
        note = told if isinstance(told, dict) else {}
        changes = note.get("effort_changes")
        self._begin(
            info,
            timed=note.get("timed") is not False,
            effort_changes=changes if isinstance(changes, int) else 0,
            window=window if isinstance(window, int) else 0,
            seen="rebuilt",
            price=self._price(info.model.id),
        )

    def _sent(self, request: StepRequest, ts: int) -> None:
        """Begin a request that was recorded when it was sent."""
        info = self._infos.get(request.message_id or "")
        if info is None:
            return
        if self._requests and self._requests[-1].message == info.id:
            self._requests.pop()
        self._flush(but=info.id)
        for kind, blob in (("tools", request.tools), ("system", request.system)):
            replaced = self._made.add_section(kind, blob.sha256, request.kinds.get(kind, 0))
            if replaced is not None:
                self._show(replaced, "out", 0, f"another {kind}")
        self._begin(
            info,
            window=request.facts.window,
            reserve=request.facts.reserve,
            price=request.model.price,
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

    def _begin(
        self, info: MessageInfo, *, started: int | None = None, timed: bool = True, **more: Any
    ) -> None:
        self._take_decisions()
        self._take_removed()
        index = len(self._requests)
        request = TimelineRequest(
            index=index,
            id=info.id,
            turn=self._made.turn,
            items=len(self._made.items),
            answer=(len(self._made.items), len(self._made.items)),
            started=(info.time.created if started is None else started) if timed else None,
            model=info.model.id,
            effort=info.model.variant or "",
            **more,
        )
        self._requests.append(_Request(request, info.id))

    def _answered(self, info: AssistantMessage) -> None:
        """Note what is known of the answer of a request."""
        for at in reversed(self._requests):
            if at.message == info.id:
                break
        else:
            return
        usage = None if info.tokens.estimated or not info.tokens.prompt else info.tokens
        status: RequestStatus = "ok"
        if info.error is not None:
            status = "aborted" if info.error.type == "aborted" else "refused"
        made = at.made
        cost = info.cost if info.cost is not None or usage is None else _cost(usage, made.price)
        ended = info.time.completed if made.started is not None else None
        at.made = replace(
            made,
            usage=usage,
            cost=cost,
            status=status,
            ended=ended,
            assumed=info.tokens if info.tokens.estimated else None,
            overflowed=isinstance(info.error, ContextOverflowError),
        )

    def _take_decisions(self) -> None:
        """Make transitions of what was decided since the request before."""
        left: list[Decision] = []
        touched: dict[int, Decision] = {}
        for decision in self._decisions:
            if decision.rule == UNDO:
                self._undo_summary(decision.message_id or "")
                continue
            items = self._made.items_of(decision)
            if not items:
                left.append(decision)
                continue
            self._decided.add(decision)
            touched |= dict.fromkeys(items, decision)
        for item, newest in touched.items():
            self._settle(item, newest)
        self._decisions = [one for one in left if one.part_id is not None]

    def _settle(self, item: int, newest: Decision) -> None:
        """Show an item as all decisions about it say, if that is not how it is shown already."""
        known = self._made.items[item]
        reduction, pinned = self._decided.effect(part_of(known), known.message)
        self._made.pin(item, pinned=pinned)
        before = self._reduced.get(item)
        if reduction == before:
            return
        self._reduced[item] = reduction
        if reduction is None:
            self._show(item, "whole", None, newest.rule)
            return
        shown = reduction.numbers.get("text" if is_of_own_policy(reduction) else "shown")
        told = reduction.numbers.get("state") if is_of_own_policy(reduction) else None
        self._show(
            item,
            told if told in ("masked", "offloaded") else _STATES[reduction.action],
            reduction.tokens_after if reduction.action != "drop" else 0,
            str(reduction.numbers.get("rule") or reduction.rule),
            shown=shown if isinstance(shown, str) else None,
            numbers=reduction.numbers,
        )

    def _undo_summary(self, message_id: str) -> None:
        """Show again what a summary replaced, since the user undid it."""
        for summary in self._made.items_of_message(message_id):
            self._show(summary, "out", 0, UNDO)
            for one in self._made.items[summary].covers:
                self._show_as_before(one)
            numbers = {"summary": message_id}
            self._events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def _show_as_before(self, item: int) -> None:
        """Show an item as it was before a summary replaced it."""
        own = (one for one in reversed(self._transitions) if one.item == item)
        last = next((one for one in own if one.state != "summarised"), None)
        if last is None:
            self._show(item, "whole", None, UNDO)
        else:
            self._transitions.append(replace(last, request=len(self._requests)))

    def _show(
        self,
        item: int,
        state: ItemState,
        tokens: int | None,
        rule: str,
        *,
        shown: str | None = None,
        numbers: Any = None,
    ) -> None:
        known = self._made.items[item]
        chars = len(shown) if shown is not None else (tokens or 0) * 4
        self._transitions.append(
            Transition(
                item=item,
                request=len(self._requests),
                state=state,
                tokens=tokens,
                chars=known.chars if state == "whole" else chars,
                rule=rule,
                numbers=numbers or {},
                shown=shown,
            )
        )

    def _take_removed(self) -> None:
        gone = frozenset(self._removed)
        self._removed = []
        items = [one.index for one in self._made.items if one.message in gone] if gone else []
        for index in items:
            self._show(index, "reverted", 0, "undo")
        if items:
            self._events.append(
                TimelineEvent(len(self._requests), "undo", "by hand", {"items": len(items)})
            )

    # The end

    def timeline(
        self,
        store: Store,
        session_id: str,
        count: Callable[[str], Callable[[str], int]] | None,
    ) -> Timeline:
        """Return the timeline of what was taken."""
        self._flush()
        items = tuple(self._made.items)
        texts = ItemTexts(store, session_id, lambda index: items[index].id)
        texts.blobs = self._made.blobs
        session = self._session
        requests = tuple(self._finished(items))
        return Timeline(
            session=session_id,
            title=session.title if session is not None else "",
            origin=self._origin,
            items=items,
            requests=requests,
            transitions=tuple(one for one in self._transitions if one.request < len(requests)),
            events=tuple(sorted([*self._events, *_changes(requests)], key=lambda one: one.request)),
            parent=session.parent_id if session is not None else None,
            started_by=str(self._imported["parent_call"])
            if self._imported.get("parent_call")
            else None,
            subagents=self._subagents,
            gaps=_gaps(self._imported.get("gaps"), self._imported.get("more_gaps")),
            read=texts,
            count=count,
        )

    def _finished(self, items: tuple[TimelineItem, ...]) -> Iterable[TimelineRequest]:
        """Yield the requests with the items of their answers."""
        answers: dict[str, tuple[int, int]] = {}
        for item in items:
            if item.kind not in ("output", "summary"):
                first, _ = answers.get(item.message, (item.index, 0))
                answers[item.message] = (first, item.index + 1)
        for at in self._requests:
            answer = answers.get(at.message, (at.made.items, at.made.items))
            yield replace(at.made, answer=answer)


def _changes(requests: Iterable[TimelineRequest]) -> Iterable[TimelineEvent]:
    """Yield the changes of model and reasoning effort between requests, and the long pauses."""
    before: TimelineRequest | None = None
    for request in requests:
        if before is not None:
            if request.model != before.model:
                numbers = {"from": before.model, "to": request.model}
                yield TimelineEvent(request.index, "model", "", numbers)
            elif request.effort != before.effort:
                numbers = {"from": before.effort, "to": request.effort}
                yield TimelineEvent(request.index, "effort", "", numbers)
        before = request


def _gaps(gaps: Any, more: Any) -> tuple[str, ...]:
    """Return what a recording lacks, each sentence once, with how often it was said."""
    told = Counter(
        str(one["what"])
        for one in (gaps if isinstance(gaps, list) else ())
        if isinstance(one, dict) and one.get("what")
    )
    found = [what if times == 1 else f"{what} ({times} times)" for what, times in told.items()]
    if isinstance(more, int) and more > 0:
        found.append(f"{more:,} more places are incomplete.")
    return tuple(found)


def _cost(usage: Any, price: Price | None) -> float | None:
    found: float | None = None if price is None else usage.cost(price)
    return found
