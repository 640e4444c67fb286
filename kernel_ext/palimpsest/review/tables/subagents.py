"""The subagents of a session on its time axis: their starts, usage and results.

A subagent is a separate session with its own window and cache; its parent contains the call and the result.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler, amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import (
    ColumnSpec,
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    table_of,
)
from palimpsest.review.tables.links import link_to
from palimpsest.review.tables.request_totals import (
    RequestCost,
    RequestTotals,
    request_totals,
    session_costs,
)
from palimpsest.review.tables.session_tables import (
    LISTED_COSTS_NOTE,
    cost_column,
    estimated_cost_cells,
    usage_cell,
)
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest
from palimpsest.transcript.values import Usage

SubagentTimelinesOf = Callable[[str], Sequence[Timeline]]
"""Returns the timelines of the sessions that a session started."""
RulerAndPricesOf = Callable[[Timeline], tuple[Ruler, PriceProfile]]
"""Returns the ruler of a subagent's session, and its prices in the money of the parent session."""
MAX_DEPTH = 8
"""Maximum depth of subagents that are followed; those that the session itself started are at depth 1."""
POSITION_FIELDS = 4
"""Number of the first fields of a ``_SentRequest``, which are its position on the time axis."""
MAX_RESULT_CHARS = 80
"""Maximum characters of a result that a table shows."""
RESULT_FRAMES = (
    ("<result>", "</result>"),
    ("<task_result>", "</task_result>"),
    ('"completed":"', '"}'),
)
"""Text around a subagent's result: in Palimpsest's results, in OpenCode's, and in a status message."""


def no_subagents(session_id: str) -> Sequence[Timeline]:  # noqa: ARG001  the signature of SubagentTimelinesOf
    """Return no subagents: the default for a session that started none."""
    return ()


@dataclass(frozen=True)
class SubagentRun:
    """One subagent, with its call and result in the session that started it."""

    timeline: Timeline
    depth: int
    """Depth of the subagent; 1 where the session itself started it."""
    call: TimelineItem | None
    """The call that started the subagent; None where the recording does not state it."""
    calls: int
    """Number of calls that gave the subagent work; more than 1 where it was resumed."""
    request: int
    """Index, from 0, of the reviewed session's request whose answer started the subagent, directly or through others."""
    totals: RequestTotals
    costs: Sequence[RequestCost | None]
    """The cost of each request of the subagent; None where it is not known."""
    result: TimelineItem | None
    """The newest message with its result, else the result of its newest call; None where it returned nothing."""
    returned: int
    """Tokens of the result, by the parent's ruler."""
    text_beginning: str
    """The beginning of the result's text."""

    @property
    def name(self) -> str:
        """The subagent's title, or its id."""
        return self.timeline.title or self.timeline.session


@dataclass(frozen=True)
class Subagents(ShownAsTable, Sequence[SubagentRun]):
    """The subagents of a session, in the order in which they were started, and the totals with and without them."""

    session: str
    title: str
    unit: str
    own_totals: RequestTotals
    costs: Sequence[RequestCost | None]
    """The cost of each request of the session itself."""
    runs: tuple[SubagentRun, ...]

    def __getitem__(self, index: Any) -> Any:
        """Return a subagent by its number, from 0."""
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def all_totals(self) -> RequestTotals:
        """The totals of the session and all its subagents; the peak is the largest of all."""
        totals_of_sessions = [self.own_totals, *(run.totals for run in self.runs)]
        return RequestTotals(
            requests=sum(totals.requests for totals in totals_of_sessions),
            input=sum(totals.input for totals in totals_of_sessions),
            output=sum(totals.output for totals in totals_of_sessions),
            peak=max(totals.peak for totals in totals_of_sessions),
            cost=sum(totals.cost for totals in totals_of_sessions),
            is_fact=all(totals.is_fact for totals in totals_of_sessions),
            cost_is_fact=all(totals.cost_is_fact for totals in totals_of_sessions),
        )

    @cached_property
    def table(self) -> ReportTable:
        """The table with a row for each subagent, and the totals without and with them."""
        cost_form: Form = "usd" if self.unit == "USD" else "count"
        request = TableColumn("request", "at request", "count", "", "Of the session, from 1.")
        peak = TableColumn("peak", "peak", "count", "", "Tokens of its largest request.")
        basis = TableColumn("basis", "known as")
        returned = TableColumn("returned_tokens", "returned", "count", "estimate")
        columns: tuple[ColumnSpec, ...] = (
            (TableColumn("subagent", "subagent"), lambda run: run.name),
            (TableColumn("session", "session"), lambda run: run.timeline.session),
            TableColumn("depth", "depth", "count", "", "1: begun by the session itself."),
            (request, lambda run: run.request + 1),
            (TableColumn("call", "call"), _call_text),
            TableColumn("calls", "calls", "count", "fact"),
            (TableColumn("requests", "requests", "count", "fact"), lambda run: run.totals.requests),
            (TableColumn("input", "input", "count"), lambda run: run.totals.input),
            (TableColumn("output", "output", "count"), lambda run: run.totals.output),
            (peak, lambda run: run.totals.peak),
            (TableColumn("cost", self.unit, cost_form), lambda run: run.totals.cost),
            (basis, lambda run: "fact" if run.totals.is_fact else "estimate"),
            (returned, lambda run: None if run.result is None else run.returned),
            (TableColumn("returned", "what came back"), lambda run: run.text_beginning),
        )
        links = [link_to(run.timeline.session) for run in self.runs]
        count_text = f"{len(self)} subagent{'' if len(self) == 1 else 's'}"
        estimates = estimated_cost_cells(not run.totals.cost_is_fact for run in self.runs)
        title = f"{count_text} of {self.title}"
        return table_of(title, columns, self.runs, self._total_sentences(), links, estimates)

    def _total_sentences(self) -> tuple[str, ...]:
        if not self.runs:
            return ()
        return tuple(
            f"{label}: {counted_noun(totals.requests, 'request')}, {totals.input:,} tokens read, {totals.output:,} written, "
            f"largest request {totals.peak:,}, "
            f"{amount_with_unit(totals.cost, self.unit, 'fact' if totals.cost_is_fact else 'estimate')}"
            f"{'' if totals.is_fact else ' (estimated in part)'}."
            for label, totals in (
                ("Without subagents", self.own_totals),
                ("With them", self.all_totals),
            )
        )

    def json(self) -> dict[str, Any]:
        """Return rows and totals as plain values."""
        return {
            "rows": self.table.priced_records(),
            "unit": self.unit,
            "without": asdict(self.own_totals),
            "with": asdict(self.all_totals),
        }


def _call_text(run: SubagentRun) -> str:
    return "" if run.call is None else f"{run.call.tool} {run.call.label}".strip()


def subagents_of(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile, runs: tuple[SubagentRun, ...]
) -> Subagents:
    """Return the subagents of a session with the totals of the session itself."""
    costs, own_totals = _costs_and_totals(timeline, ruler, profile)
    title = timeline.title or timeline.session
    return Subagents(timeline.session, title, profile.unit, own_totals, costs, runs)


def _costs_and_totals(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile
) -> tuple[Sequence[RequestCost | None], RequestTotals]:
    costs = session_costs(timeline, ruler, profile)
    return costs, request_totals(timeline, ruler, profile)


def subagent_runs(
    timeline: Timeline,
    subagent_timelines_of: SubagentTimelinesOf,
    ruler: Ruler,
    ruler_and_prices_of: RulerAndPricesOf,
) -> tuple[SubagentRun, ...]:
    """Return the subagents of a session by the request that started them; those of a subagent follow it directly."""
    return tuple(
        _runs_below(
            timeline, subagent_timelines_of, ruler, ruler_and_prices_of, (timeline.session,), None
        )
    )


def _runs_below(
    parent: Timeline,
    subagent_timelines_of: SubagentTimelinesOf,
    ruler: Ruler,
    ruler_and_prices_of: RulerAndPricesOf,
    ancestors: tuple[str, ...],
    request: int | None,
) -> Iterator[SubagentRun]:
    """Yield the subagents of a session; ``ancestors`` are the session and the sessions above it."""
    depth = len(ancestors)
    if depth > MAX_DEPTH:
        return
    started_subagents = []
    for subagent in subagent_timelines_of(parent.session):
        if subagent.session in ancestors:
            continue
        calls = _work_calls(parent, subagent)
        started_by_request = _starting_request(parent, subagent, calls[0] if calls else None)
        started_subagents.append((started_by_request, _first_sent_ms(subagent), subagent, calls))
    for started_by_request, _, subagent, calls in sorted(
        started_subagents, key=lambda row: row[:2]
    ):
        result = _result_item(parent, subagent, calls)
        weight = 0 if result is None else parent.weights(ruler.estimator)[result.index]
        request_of_session = started_by_request if request is None else request
        subagent_ruler, profile = ruler_and_prices_of(subagent)
        costs, totals = subagent.derived_value(
            f"totals {subagent_ruler} {profile}",
            partial(_costs_and_totals, ruler=subagent_ruler, profile=profile),
        )
        yield SubagentRun(
            timeline=subagent,
            depth=depth,
            call=calls[0] if calls else None,
            calls=len(calls),
            request=request_of_session,
            totals=totals,
            costs=costs,
            result=result,
            returned=round(weight * ruler.factor),
            text_beginning="" if result is None else _result_beginning(parent.read(result.index)),
        )
        yield from _runs_below(
            subagent,
            subagent_timelines_of,
            subagent_ruler,
            ruler_and_prices_of,
            (*ancestors, subagent.session),
            request_of_session,
        )


def missing_subagents(timeline: Timeline, runs: Sequence[SubagentRun]) -> tuple[int, ...]:
    """Return the items, from 0, of the calls whose subagent is none of ``runs``: its session is not stored."""
    known_ids = {run.timeline.session for run in runs}
    call_ids = {
        call_id for call_id, session_id in timeline.subagents.items() if session_id not in known_ids
    }
    return tuple(item.index for item in _items_of_calls(timeline, call_ids) if item.kind == "call")


def _work_calls(parent: Timeline, subagent: Timeline) -> list[TimelineItem]:
    """Return the parent's calls that gave a subagent work, oldest first."""
    call_ids = {
        call_id
        for call_id, session_id in parent.subagents.items()
        if session_id == subagent.session
    }
    if subagent.started_by is not None:
        call_ids.add(subagent.started_by)
    return [item for item in _items_of_calls(parent, call_ids) if item.kind == "call"]


def _items_of_calls(timeline: Timeline, call_ids: Collection[str]) -> list[TimelineItem]:
    items_by_group = timeline.derived_value("items by group", _items_by_group)
    items = [item for call_id in call_ids for item in items_by_group.get(call_id, ())]
    return sorted(items, key=lambda item: item.index)


def _items_by_group(timeline: Timeline) -> dict[str, list[TimelineItem]]:
    items_by_group: dict[str, list[TimelineItem]] = {}
    for item in timeline.items:
        if item.group:
            items_by_group.setdefault(item.group, []).append(item)
    return items_by_group


def _starting_request(parent: Timeline, subagent: Timeline, call: TimelineItem | None) -> int:
    """Return the parent's request whose answer started a subagent, or the last request that was sent before."""
    if call is not None:
        return max(call.entered - 1, 0)
    started_ms = _first_sent_ms(subagent)
    earlier_requests = (
        request.index
        for request in parent.requests
        if request.started and request.started <= started_ms
    )
    return max(earlier_requests, default=0)


def _first_sent_ms(timeline: Timeline) -> int:
    """Return when the first request was sent, in milliseconds; 0 where it is not known."""
    started = (request.started for request in timeline.requests)
    return next((moment for moment in started if moment is not None), 0)


def _result_item(
    parent: Timeline, subagent: Timeline, calls: Sequence[TimelineItem]
) -> TimelineItem | None:
    result_message_ids = {
        message_id
        for message_id, session_id in parent.subagents.items()
        if session_id == subagent.session
    }
    message_ids = parent.derived_value(
        "messages", lambda timeline: {item.message for item in timeline.items}
    )
    results = []
    if result_message_ids & message_ids:
        results = [item for item in parent.items if item.message in result_message_ids]
    if not results:
        call_ids = {call.group for call in calls} - {""}
        results = [item for item in _items_of_calls(parent, call_ids) if item.kind == "output"]
    return results[-1] if results else None


def _result_beginning(text: str) -> str:
    unframed = (
        text.partition(opening)[2].rpartition(closing)[0] for opening, closing in RESULT_FRAMES
    )
    line = " ".join((next(filter(None, unframed), "") or text).split())
    return line if len(line) <= MAX_RESULT_CHARS else f"{line[: MAX_RESULT_CHARS - 1]}…"


def requests_with_subagents(timeline: Timeline, subagents: Subagents) -> ReportTable:
    """Return a table of the requests of the session and of its subagents, in the order in which they were sent."""
    column_note = "Of the session; a subagent's stand behind."
    started_column = TableColumn("started", "started", "text", "fact", "Milliseconds since 1970.")
    columns: tuple[ColumnSpec, ...] = (
        (
            TableColumn("request", "request", "count", "", column_note),
            lambda row: max(row.parent_request, 0) + 1,
        ),
        (TableColumn("subagent", "subagent"), lambda row: row.name),
        TableColumn("depth", "depth", "count"),
        (TableColumn("own_request", "its request", "count"), lambda row: row.own_index + 1),
        (TableColumn("model", "model"), lambda row: row.request.model),
        (TableColumn("status", "status"), lambda row: row.request.status),
        (started_column, lambda row: row.request.started),
        (TableColumn("input", "input", "count", "fact"), lambda row: row.request.reported),
        (TableColumn("cache_read", "read", "count", "fact"), usage_cell("cache_read")),
        (TableColumn("output", "output", "count", "fact"), usage_cell("output")),
        (cost_column(subagents.unit), lambda row: row.cost and row.cost.value),
    )
    rows = [
        _SentRequest(request.index, 0, 0, request.index, timeline.session, "", 0, request, cost)
        for request, cost in zip(timeline.requests, subagents.costs, strict=True)
    ]
    for run_number, run in enumerate(subagents.runs, start=1):
        sent_at_ms, subagent_id = 0, run.timeline.session
        for request, cost in zip(run.timeline.requests, run.costs, strict=True):
            sent_at_ms = max(sent_at_ms, request.started or 0)
            position = (
                _parent_request_before(timeline, run, request.index),
                sent_at_ms,
                run_number,
                request.index,
            )
            rows.append(_SentRequest(*position, subagent_id, run.name, run.depth, request, cost))
    rows.sort(key=lambda row: row[:POSITION_FIELDS])
    links = [link_to(row.session, row.own_index) for row in rows]
    title = f"{len(rows)} requests of {subagents.title} and its subagents"
    costs = (row.cost for row in rows)
    estimates = estimated_cost_cells(
        cost is not None and cost.basis == "estimate" for cost in costs
    )
    notes = (*subagents.table.notes, *((LISTED_COSTS_NOTE,) if estimates else ()), *timeline.gaps)
    return table_of(title, columns, rows, notes, links, estimates)


class _SentRequest(NamedTuple):
    """A request of the session or of a subagent, with its position on the common time axis."""

    parent_request: int
    """Index of the parent's newest request at that time, -1 for none; for a request of the parent its own index."""
    sent_at_ms: int
    """Time of sending in milliseconds; 0 for the parent's own requests, and where it is not known."""
    run_number: int
    """Number of the subagent, from 1; 0 for the parent."""
    own_index: int
    """Index of the request in its own session."""
    session: str
    name: str
    depth: int
    request: TimelineRequest
    cost: RequestCost | None

    @property
    def usage(self) -> Usage | None:
        return self.request.usage


def _parent_request_before(timeline: Timeline, run: SubagentRun, request_of_subagent: int) -> int:
    """Return the parent's newest request that was sent before a request of a subagent; -1 where none was."""
    started_ms = run.timeline.requests[request_of_subagent].started
    if started_ms is None:
        return run.request
    first_sent_ms = timeline.requests[run.request].started if timeline.requests else None
    if (
        run.call is None
        and run.request == 0
        and first_sent_ms is not None
        and started_ms < first_sent_ms
    ):
        return -1
    later_requests = (
        request.index
        for request in timeline.requests[run.request + 1 :]
        if request.started is not None and request.started < started_ms
    )
    return max(later_requests, default=run.request)
