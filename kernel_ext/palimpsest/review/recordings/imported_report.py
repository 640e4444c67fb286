"""The context window of a recording of another agent: its last request, with the agent's own prompt, tools and counts.

Such a session is not gone on with, so there is no next request of ours to report. The tokens are those that the
inspector and ``context at`` tell of the same request: by the ruler that is fitted to the reported usage.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from palimpsest.render.reports.context_window import KINDS
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.comparison.explanation import transition_words
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.inspection.context_report import ContextReport
from palimpsest.review.inspection.reductions import Scrub
from palimpsest.review.inspection.window_contents import Reduction, ReportItem, Shown, Way
from palimpsest.review.request_contents.request_blocks import UNSEEN, RequestBlock
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import ItemState, TimelineItem

GAUGE_KINDS: Mapping[str, str] = {"call": "assistant", "media": "user", UNSEEN: "system"}
"""Kinds of a timeline that the gauge has under another name."""
SHOWN: Mapping[ItemState, Shown] = {"truncated": "truncated"}
WAYS: Mapping[ItemState, Way] = {
    "truncated": "truncate",
    "cleared": "clear",
    "masked": "clear",
    "offloaded": "clear",
    "summarised": "summarise",
    "out": "drop",
    "reverted": "exclude",
}
UNSEEN_NAME = "not in the recording"


def imported_report(review: SessionReview, scrub: Scrub = str) -> ContextReport:
    """Return the report of the last request of a recording; raises UserError where it has none."""
    timeline, ruler = review.timeline, review.ruler
    if not timeline.requests:
        raise UserError("The recording has no request, so there is no context to show.")
    last = timeline.requests[-1]
    shown = review.request(last.index + 1)
    window = last.window or review.listed_limits().by_model.get(last.model, 0)
    return ContextReport(
        session_id=timeline.session,
        request_id=str(last.index + 1),
        model=last.model or "an unnamed model",
        policy=f"as {timeline.origin} had it",
        window=window,
        window_assumed=False,
        reserve=last.reserve,
        estimator=ruler.estimator,
        calibration=ruler.factor,
        reported=last.reported,
        items=tuple(_rounded(_items(shown.blocks, scrub), shown.tokens)),
        gone=tuple(_gone(review, last.index, scrub)),
        recorded_by=timeline.origin,
    )


def _items(blocks: Sequence[RequestBlock], scrub: Scrub) -> Iterator[tuple[ReportItem, float]]:
    for one in blocks:
        kind = GAUGE_KINDS.get(one.kind, one.kind)
        lines = (line.strip() for line in one.text.splitlines())
        words = next(filter(None, lines), "")
        item = ReportItem(
            kind=kind if kind in KINDS else "used",
            name=UNSEEN_NAME if one.kind == UNSEEN else one.kind,
            words=one_line(scrub(words)),
            tokens=0,
            shown=SHOWN.get(one.state, "whole" if one.state == "whole" else "cleared"),
        )
        yield item, one.tokens


def _rounded(items: Iterator[tuple[ReportItem, float]], total: float) -> Iterator[ReportItem]:
    """Yield the items in whole tokens that add up to the request's."""
    found = [*items]
    before = exact = 0.0
    for place, (item, tokens) in enumerate(found, start=1):
        exact += tokens
        now = round(total if place == len(found) else exact)
        yield replace(item, tokens=now - round(before))
        before = now


def _gone(review: SessionReview, request: int, scrub: Scrub) -> Iterator[Reduction]:
    """Yield what the last request no longer showed whole."""
    timeline, factor = review.timeline, review.ruler.factor
    weights = timeline.weights(review.ruler.estimator)
    for item in timeline.items[: timeline.requests[request].items]:
        found = timeline.at(item.index, request)
        if found is None or found.state not in WAYS:
            continue
        before = weights[item.index] * factor
        after = None if found.tokens is None else round(found.tokens * factor)
        yield Reduction(
            way=WAYS[found.state],
            name=_name(item),
            words=one_line(scrub(item.label)),
            rule=found.rule or "not recorded",
            reason=f"Since request {found.request + 1}: "
            + scrub(transition_words(found, weights[item.index], found.tokens, factor)),
            tokens_before=round(before),
            tokens_after=after,
            part_id=item.id,
        )


def _name(item: TimelineItem) -> str:
    return item.tool or item.kind
