"""The subagents of a session on its own time axis: who started them, when, what they took and what came back.

A subagent is a session of its own, with its own window and cache; its parent sees the call and the result.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import (
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    Told,
    table_of,
)
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.request_totals import (
    RequestCost,
    RequestTotals,
    request_totals,
    session_costs,
)
from palimpsest.review.comparison.session_tables import (
    LISTED_COSTS,
    cost_column,
    estimated_costs,
    of_usage,
)
from palimpsest.review.replay.ruler import PriceProfile, Ruler, money_words
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest
from palimpsest.transcript.values import Usage

ChildrenOf = Callable[[str], Sequence[Timeline]]
"""Returns the timelines of the sessions that a session began."""
MeasuresOf = Callable[[Timeline], tuple[Ruler, PriceProfile]]
"""Returns how a subagent's session is counted, and its prices in the money of the session that began it."""
DEEPEST = 8
"""Levels of subagents that are followed; nobody nests deeper."""
RETURNED_CHARS = 80
FRAMES = (("<result>", "</result>"), ("<task_result>", "</task_result>"), ('"completed":"', '"}'))
"""What stands before and after the words of a subagent: in our own results, in OpenCode's, and in a status."""


def no_children(session_id: str) -> Sequence[Timeline]:  # noqa: ARG001  the signature of ChildrenOf
    """Return that a session began no others."""
    return ()


@dataclass(frozen=True)
class SubagentRun:
    """One subagent, seen from the session that began it."""

    timeline: Timeline
    depth: int
    """1 for those that the session itself began."""
    call: TimelineItem | None
    """The call that began it; None where the recording does not say which."""
    calls: int
    """How many calls gave it work: more than one where it was resumed."""
    request: int
    """The request of the reviewed session whose answer began it, or the work of which it was part."""
    totals: RequestTotals
    costs: Sequence[RequestCost | None]
    """Of each of its requests."""
    result: TimelineItem | None
    """The newest message that brought its words, else what its newest call returned; None where nothing came back."""
    returned: int
    """Tokens of that, by the parent's ruler."""
    words: str
    """The beginning of it."""

    @property
    def name(self) -> str:
        """Its title, or its id."""
        return self.timeline.title or self.timeline.session


@dataclass(frozen=True)
class Subagents(ShownAsTable, Sequence[SubagentRun]):
    """The subagents of a session, in the order in which they were started, and what all of it took."""

    session: str
    title: str
    unit: str
    own: RequestTotals
    costs: Sequence[RequestCost | None]
    """Of each request of the session itself."""
    runs: tuple[SubagentRun, ...]

    def __getitem__(self, place: Any) -> Any:
        """Return a subagent by its number, from 0."""
        return self.runs[place]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def together(self) -> RequestTotals:
        """What the session and all its subagents took; the peak is the largest of any of them."""
        every = [self.own, *(one.totals for one in self.runs)]
        return RequestTotals(
            requests=sum(one.requests for one in every),
            input=sum(one.input for one in every),
            output=sum(one.output for one in every),
            peak=max(one.peak for one in every),
            cost=sum(one.cost for one in every),
            is_fact=all(one.is_fact for one in every),
            cost_is_fact=all(one.cost_is_fact for one in every),
        )

    @cached_property
    def table(self) -> ReportTable:
        """One row a subagent, and the totals without and with them."""
        money: Form = "usd" if self.unit == "USD" else "count"
        request = TableColumn("request", "at request", "count", "", "Of the session, from 1.")
        peak = TableColumn("peak", "peak", "count", "", "Tokens of its largest request.")
        columns: tuple[Told, ...] = (
            (TableColumn("subagent", "subagent"), lambda one: one.name),
            (TableColumn("session", "session"), lambda one: one.timeline.session),
            TableColumn("depth", "depth", "count", "", "1: begun by the session itself."),
            (request, lambda one: one.request + 1),
            (TableColumn("call", "call"), _call_words),
            TableColumn("calls", "calls", "count", "fact"),
            (TableColumn("requests", "requests", "count", "fact"), lambda one: one.totals.requests),
            (TableColumn("input", "input", "count"), lambda one: one.totals.input),
            (TableColumn("output", "output", "count"), lambda one: one.totals.output),
            (peak, lambda one: one.totals.peak),
            (TableColumn("cost", self.unit, money), lambda one: one.totals.cost),
            (
                TableColumn("basis", "known as"),
                lambda one: "fact" if one.totals.is_fact else "estimate",
            ),
            (
                TableColumn("returned_tokens", "returned", "count", "estimate"),
                lambda one: None if one.result is None else one.returned,
            ),
            (TableColumn("returned", "what came back"), lambda one: one.words),
        )
        links = [link_to(one.timeline.session) for one in self.runs]
        number = f"{len(self)} subagent{'' if len(self) == 1 else 's'}"
        estimates = estimated_costs(not one.totals.cost_is_fact for one in self.runs)
        title = f"{number} of {self.title}"
        return table_of(title, columns, self.runs, self._notes(), links, estimates)

    def _notes(self) -> tuple[str, ...]:
        if not self.runs:
            return ()
        return tuple(
            f"{which}: {some(one.requests, 'request')}, {one.input:,} tokens read, {one.output:,} written, "
            f"largest request {one.peak:,}, "
            f"{money_words(one.cost, self.unit, 'fact' if one.cost_is_fact else 'estimate')}"
            f"{'' if one.is_fact else ' (estimated in part)'}."
            for which, one in (("Without subagents", self.own), ("With them", self.together))
        )

    def json(self) -> dict[str, Any]:
        """Return rows and totals as plain values."""
        return {
            "rows": self.table.priced_records(),
            "unit": self.unit,
            "without": asdict(self.own),
            "with": asdict(self.together),
        }


def _call_words(run: SubagentRun) -> str:
    return "" if run.call is None else f"{run.call.tool} {run.call.label}".strip()


def subagents_of(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile, runs: tuple[SubagentRun, ...]
) -> Subagents:
    """Return the subagents of a session with the totals of the session itself."""
    costs, own = _totals(timeline, ruler, profile)
    title = timeline.title or timeline.session
    return Subagents(timeline.session, title, profile.unit, own, costs, runs)


def _totals(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile
) -> tuple[Sequence[RequestCost | None], RequestTotals]:
    costs = session_costs(timeline, ruler, profile)
    return costs, request_totals(timeline, ruler, profile)


def subagent_runs(
    timeline: Timeline, children_of: ChildrenOf, ruler: Ruler, measures_of: MeasuresOf
) -> tuple[SubagentRun, ...]:
    """Return the subagents of a session, those of subagents behind the one that began them."""
    return tuple(_runs(timeline, children_of, ruler, measures_of, (timeline.session,), None))


def _runs(
    parent: Timeline,
    children_of: ChildrenOf,
    ruler: Ruler,
    measures_of: MeasuresOf,
    above: tuple[str, ...],
    request: int | None,
) -> Iterator[SubagentRun]:
    """Yield the subagents of a session; ``above`` are the sessions that it is a subagent of, and itself."""
    depth = len(above)
    if depth > DEEPEST:
        return
    found = []
    for child in children_of(parent.session):
        if child.session in above:
            continue
        calls = _calls(parent, child)
        begun = _request_of(parent, child, calls[0] if calls else None)
        found.append((begun, _started(child), child, calls))
    for begun, _, child, calls in sorted(found, key=lambda one: one[:2]):
        result = _result(parent, child, calls)
        at = begun if request is None else request
        own, profile = measures_of(child)
        costs, totals = child.derived(
            f"totals {own} {profile}", partial(_totals, ruler=own, profile=profile)
        )
        yield SubagentRun(
            timeline=child,
            depth=depth,
            call=calls[0] if calls else None,
            calls=len(calls),
            request=at,
            totals=totals,
            costs=costs,
            result=result,
            returned=0
            if result is None
            else round(parent.weights(ruler.estimator)[result.index] * ruler.factor),
            words="" if result is None else _beginning(parent.read(result.index)),
        )
        yield from _runs(child, children_of, own, measures_of, (*above, child.session), at)


def _calls(parent: Timeline, child: Timeline) -> list[TimelineItem]:
    """Return the parent's calls that gave a subagent work, oldest first."""
    named = {call for call, session in parent.subagents.items() if session == child.session}
    if child.started_by is not None:
        named.add(child.started_by)
    return [one for one in _grouped(parent, named) if one.kind == "call"]


def _grouped(timeline: Timeline, groups: Collection[str]) -> list[TimelineItem]:
    """Return the items of some groups, in their order."""
    by_group = timeline.derived("items by group", _by_group)
    found = [one for group in groups for one in by_group.get(group, ())]
    return sorted(found, key=lambda one: one.index)


def _by_group(timeline: Timeline) -> dict[str, list[TimelineItem]]:
    found: dict[str, list[TimelineItem]] = {}
    for one in timeline.items:
        if one.group:
            found.setdefault(one.group, []).append(one)
    return found


def _request_of(parent: Timeline, child: Timeline, call: TimelineItem | None) -> int:
    """Return the parent's request whose answer began a subagent, or the last one that was sent before."""
    if call is not None:
        return max(call.entered - 1, 0)
    started = _started(child)
    before = [one.index for one in parent.requests if one.started and one.started <= started]
    return before[-1] if before else 0


def _started(timeline: Timeline) -> int:
    """Return when the first request was sent; 0 where that is not known."""
    return next((one.started for one in timeline.requests if one.started is not None), 0)


def _result(
    parent: Timeline, child: Timeline, calls: Sequence[TimelineItem]
) -> TimelineItem | None:
    groups = {one.group for one in calls} - {""}
    told = {name for name, session in parent.subagents.items() if session == child.session}
    messages = parent.derived("messages", lambda one: {item.message for item in one.items})
    found = [one for one in parent.items if one.message in told] if told & messages else []
    found = found or [one for one in _grouped(parent, groups) if one.kind == "output"]
    return found[-1] if found else None


def _beginning(text: str) -> str:
    framed = (text.partition(before)[2].rpartition(after)[0] for before, after in FRAMES)
    line = " ".join((next(filter(None, framed), "") or text).split())
    return line if len(line) <= RETURNED_CHARS else f"{line[: RETURNED_CHARS - 1]}…"


def requests_with_subagents(timeline: Timeline, subagents: Subagents) -> ReportTable:
    """Return one row a request of the session and of its subagents, in the order in which they were sent."""
    about = "Of the session; a subagent's stand behind."
    started = TableColumn("started", "started", "text", "fact", "Milliseconds since 1970.")
    columns: tuple[Told, ...] = (
        (TableColumn("request", "request", "count", "", about), lambda one: max(one.after, 0) + 1),
        (TableColumn("subagent", "subagent"), lambda one: one.name),
        TableColumn("depth", "depth", "count"),
        (TableColumn("own_request", "its request", "count"), lambda one: one.own + 1),
        (TableColumn("model", "model"), lambda one: one.request.model),
        (TableColumn("status", "status"), lambda one: one.request.status),
        (started, lambda one: None if one.request.started is None else str(one.request.started)),
        (TableColumn("input", "input", "count", "fact"), lambda one: one.request.reported),
        (TableColumn("cache_read", "read", "count", "fact"), of_usage("cache_read")),
        (TableColumn("output", "output", "count", "fact"), of_usage("output")),
        (cost_column(subagents.unit), lambda one: one.cost and one.cost.value),
    )
    rows = [
        _SentRequest(one.index, 0, 0, one.index, timeline.session, "", 0, one, cost)
        for one, cost in zip(timeline.requests, subagents.costs, strict=True)
    ]
    for number, run in enumerate(subagents.runs, start=1):
        sent, session = 0, run.timeline.session
        for one, cost in zip(run.timeline.requests, run.costs, strict=True):
            sent = max(sent, one.started or 0)
            place = (_sent_after(timeline, run, one.index), sent, number, one.index)
            rows.append(_SentRequest(*place, session, run.name, run.depth, one, cost))
    rows.sort(key=lambda one: one[:4])
    links = [link_to(one.session, one.own) for one in rows]
    title = f"{len(rows)} requests of {subagents.title} and its subagents"
    estimated = estimated_costs(
        one.cost is not None and one.cost.basis == "estimate" for one in rows
    )
    notes = (*subagents.table.notes, *((LISTED_COSTS,) if estimated else ()), *timeline.gaps)
    return table_of(title, columns, rows, notes, links, estimated)


class _SentRequest(NamedTuple):
    """A request of the session or of a subagent, and its place among all."""

    after: int
    """The parent's request behind which it was sent, or its own number; -1 before the first."""
    sent: int
    """When; 0 for the parent's own, and where it is not known."""
    run: int
    """0 for the parent."""
    own: int
    session: str
    name: str
    depth: int
    request: TimelineRequest
    cost: RequestCost | None

    @property
    def usage(self) -> Usage | None:
        return self.request.usage


def _sent_after(timeline: Timeline, run: SubagentRun, own: int) -> int:
    """Return the newest request of the parent that was sent before one of a subagent; -1 where none was."""
    started = run.timeline.requests[own].started
    if started is None:
        return run.request
    first = timeline.requests[run.request].started if timeline.requests else None
    if run.call is None and run.request == 0 and first is not None and started < first:
        return -1
    later = (
        one.index
        for one in timeline.requests
        if one.index > run.request and one.started is not None and one.started < started
    )
    return max(later, default=run.request)
