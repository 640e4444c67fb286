"""The context window of another agent's recording: its last request, with the agent's own prompt, tools and counts.

Such a session cannot be continued, so there is no next request to report. The tokens are those that the inspector and
``context at`` show for the same request, by the ruler that is fitted to the reported usage.
"""

from collections.abc import Iterator, Mapping

from palimpsest.render.reports.context_window import FILL_KINDS
from palimpsest.render.safety.escaping import one_line
from palimpsest.request_items import Scrub, first_line
from palimpsest.review.context_report.context_report import ContextReport
from palimpsest.review.context_report.window_contents import WAY_OF_STATE, Reduction, whole_tokens
from palimpsest.review.request_contents.request_blocks import UNSEEN_KIND
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.explanation import transition_text
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError

GAUGE_KINDS: Mapping[str, str] = {"call": "assistant", "media": "user", UNSEEN_KIND: "system"}
"""The gauge's names for item kinds of a timeline, where they differ."""
UNSEEN_NAME = "not in the recording"
"""The item's name for tokens that the recording does not show."""


def imported_report(review: SessionReview, scrub: Scrub = str) -> ContextReport:
    """Return the report of the last request of a recording; raises UserError where there is no request."""
    timeline, ruler = review.timeline, review.ruler
    if not timeline.requests:
        raise UserError("The recording has no request, so there is no context to show.")
    last_request = timeline.requests[-1]
    shown_request = review.request(last_request.index + 1)
    window = last_request.window or review.listed_limits().by_model.get(last_request.model, 0)
    return ContextReport(
        session_id=timeline.session,
        request_id=str(last_request.index + 1),
        model=last_request.model or "an unnamed model",
        policy=f"as {timeline.origin} had it",
        window=window,
        window_assumed=False,
        reserve=last_request.reserve,
        estimator=ruler.estimator,
        calibration=ruler.factor,
        reported_tokens=last_request.reported,
        items=whole_tokens(
            _report_item(block, scrub)
            for block in (*shown_request.blocks, *shown_request.outside_blocks)
        ),
        reductions=tuple(_item_reductions(review, last_request.index, scrub)),
        recorded_by=timeline.origin,
    )


def _report_item(block: RequestItem, scrub: Scrub) -> RequestItem:
    kind = GAUGE_KINDS.get(block.kind, block.kind)
    return RequestItem(
        kind=kind if kind in FILL_KINDS else "used",
        name=UNSEEN_NAME if block.kind == UNSEEN_KIND else block.kind,
        words=one_line(scrub(first_line(block.text))),
        tokens=block.tokens,
        state=block.state if block.state in ("whole", "truncated") else "cleared",
    )


def _item_reductions(review: SessionReview, request: int, scrub: Scrub) -> Iterator[Reduction]:
    timeline, factor = review.timeline, review.ruler.factor
    weights = timeline.weights(review.ruler.estimator)
    for item in timeline.items[: timeline.requests[request].items]:
        transition = timeline.transition_at(item.index, request)
        if transition is None or transition.state == "whole":
            continue
        tokens_before = weights[item.index] * factor
        tokens_after = None if transition.tokens is None else round(transition.tokens * factor)
        yield Reduction(
            way=WAY_OF_STATE[transition.state],
            name=item.tool or item.kind,
            text=one_line(scrub(item.label)),
            rule=transition.rule or "not recorded",
            reason=f"Since request {transition.request + 1}: "
            + scrub(transition_text(transition, weights[item.index], transition.tokens, factor)),
            tokens_before=round(tokens_before),
            tokens_after=tokens_after,
            part_id=item.id,
        )
