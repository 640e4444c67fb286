"""The context window of a recording of another agent: its last request, with the agent's own prompt, tools and counts.

Such a session is not gone on with, so there is no next request of ours to report. The tokens are those that the
inspector and ``context at`` tell of the same request: by the ruler that is fitted to the reported usage.
"""

from collections.abc import Iterator, Mapping

from palimpsest.loop.run_inputs.request_items import Scrub, first_line
from palimpsest.render.reports.context_window import KINDS
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.comparison.explanation import transition_words
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.inspection.context_report import ContextReport
from palimpsest.review.inspection.window_contents import WAYS, Reduction, whole_tokens
from palimpsest.review.request_contents.request_blocks import UNSEEN
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError

GAUGE_KINDS: Mapping[str, str] = {"call": "assistant", "media": "user", UNSEEN: "system"}
"""Kinds of a timeline that the gauge has under another name."""
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
        items=whole_tokens(_item(one, scrub) for one in (*shown.blocks, *shown.beside)),
        gone=tuple(_gone(review, last.index, scrub)),
        recorded_by=timeline.origin,
    )


def _item(one: RequestItem, scrub: Scrub) -> RequestItem:
    """Return a block as an item of a window."""
    kind = GAUGE_KINDS.get(one.kind, one.kind)
    return RequestItem(
        kind=kind if kind in KINDS else "used",
        name=UNSEEN_NAME if one.kind == UNSEEN else one.kind,
        words=one_line(scrub(first_line(one.text))),
        tokens=one.tokens,
        state=one.state if one.state in ("whole", "truncated") else "cleared",
    )


def _gone(review: SessionReview, request: int, scrub: Scrub) -> Iterator[Reduction]:
    """Yield what the last request no longer showed whole."""
    timeline, factor = review.timeline, review.ruler.factor
    weights = timeline.weights(review.ruler.estimator)
    for item in timeline.items[: timeline.requests[request].items]:
        found = timeline.at(item.index, request)
        if found is None or found.state == "whole":
            continue
        before = weights[item.index] * factor
        after = None if found.tokens is None else round(found.tokens * factor)
        yield Reduction(
            way=WAYS[found.state],
            name=item.tool or item.kind,
            words=one_line(scrub(item.label)),
            rule=found.rule or "not recorded",
            reason=f"Since request {found.request + 1}: "
            + scrub(transition_words(found, weights[item.index], found.tokens, factor)),
            tokens_before=round(before),
            tokens_after=after,
            part_id=item.id,
        )
