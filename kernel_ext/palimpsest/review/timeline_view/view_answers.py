"""Answer a view's questions about one session: from its timeline, and from replays that are kept while it is shown."""

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.replay.simulation import Simulation, simulate
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.track_view import track_of
from palimpsest.review.timeline_view.view_queries import (
    BLOCK_CHARS,
    MOST_BLOCKS,
    TEXT_CHARS,
    AskCompaction,
    AskItem,
    AskRequest,
    AskTrack,
    AskView,
    BlockView,
    ItemText,
    RequestText,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.review.timeline_view.view_values import SubagentView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import GONE_STATES

KEPT_REPLAYS = 16
"""Replays kept for questions about single items and requests."""
ROLES = {
    "system": "system",
    "tools": "system",
    "instructions": "system",
    "assistant": "assistant",
    "reasoning": "assistant",
    "call": "assistant",
    "output": "tool",
}
"""Of each kind; the others are the user's."""
BASIS = {
    "exact": "As it was sent.",
    "rebuilt": "Rebuilt from the messages that were recorded before it.",
    "partial": "In part: the recording lacks some of it.",
    "estimate": "As the policy would have sent it: the actions are the recorded ones.",
}


class ViewAnswers:
    """Answers the questions about one session.

    Responsibilities: keep the replays of policies that were asked for; turn what a person can mend into one
    sentence. Pure reading: nothing is run, sent or written.
    """

    def __init__(
        self,
        review: SessionReview,
        *,
        own: bool = False,
        seq: int = 0,
        subagents: Sequence[SubagentView] = (),
    ) -> None:
        self.review = review
        self.seq = seq
        self._own = own
        self._subagents = tuple(subagents)
        self._replays: OrderedDict[str, Simulation] = OrderedDict()

    def answer(self, query: ViewQuery) -> ViewAnswer:
        """Return the answer; a question that cannot be answered has one sentence instead."""
        began = time.perf_counter()
        try:
            found = self._answer(query)
        except (UserError, ValueError) as error:
            found = ViewAnswer(error=str(error))
        except IndexError:
            requests, items = len(self.review.timeline.requests), len(self.review.timeline.items)
            found = ViewAnswer(error=f"The session has {requests} requests and {items} items.")
        took = round(1000 * (time.perf_counter() - began))
        return found.model_copy(update={"milliseconds": took})

    def _answer(self, query: ViewQuery) -> ViewAnswer:
        match query:
            case AskView(after=after) if after is not None and after == self.seq:
                return ViewAnswer(unchanged=True)
            case AskView():
                view = timeline_view(
                    self.review,
                    query.price,
                    own=self._own,
                    seq=self.seq,
                    subagents=self._subagents,
                )
                return ViewAnswer(view=view)
            case AskTrack():
                price = self.review.price(query.price)
                found = self._simulation(query.policy, query.numbers, query.window)
                return ViewAnswer(track=track_of(self.review, found, price))
            case AskItem():
                return ViewAnswer(item=self._item(query))
            case AskRequest():
                return ViewAnswer(request=self._request(query))
            case AskCompaction():
                raise UserError("The session has no such compaction.")

    def _simulation(self, policy: str, numbers: Mapping[str, float], window: int = 0) -> Simulation:
        written = {name: _number(value) for name, value in sorted(numbers.items())}
        key = f"{policy} {written} {window}"
        found = self._replays.pop(key, None)
        if found is None:
            chosen = self.review.policy(policy, **written)
            found = simulate(self.review.timeline, chosen, self.review.ruler, window)
        self._replays[key] = found
        while len(self._replays) > KEPT_REPLAYS:
            self._replays.popitem(last=False)
        return found

    def _item(self, query: AskItem) -> ItemText:
        timeline = self._simulation(query.policy, query.numbers).timeline
        self._check(query.request, query.item)
        found = timeline.at(query.item, query.request)
        text = timeline.read(query.item)
        return ItemText(
            item=query.item,
            state="whole" if found is None else found.state,
            text=text[query.offset : query.offset + TEXT_CHARS],
            offset=query.offset,
            chars=len(text),
            shown=None if found is None or found.shown is None else found.shown[:TEXT_CHARS],
        )

    def _request(self, query: AskRequest) -> RequestText:
        simulation = self._simulation(query.policy, query.numbers)
        self._check(query.request, 0)
        timeline, ruler = simulation.timeline, simulation.ruler
        request = timeline.requests[query.request]
        weights = timeline.weights(ruler.estimator)
        wanted = query.find.casefold()
        blocks, total = [], 0
        for index in sorted(range(request.items), key=timeline.ranks.__getitem__):
            found = timeline.at(index, query.request)
            state = "whole" if found is None else found.state
            stands_in = found is not None and found.state == "summarised" and bool(found.tokens)
            if state in GONE_STATES and not stands_in:
                continue
            item = timeline.items[index]
            text = (
                timeline.read(index)
                if found is None
                else found.shown
                if found.shown is not None
                else f"[{found.tokens or 0:,} tokens that are not in the recording]"
            )
            if wanted and wanted not in text.casefold():
                continue
            total += 1
            if not query.first < total <= query.first + MOST_BLOCKS:
                continue
            place = max(text.casefold().find(wanted) - BLOCK_CHARS // 4, 0) if wanted else 0
            tokens = weights[index] if found is None else found.tokens or 0
            blocks.append(
                BlockView(
                    item=index,
                    role=ROLES.get(item.kind, "user"),
                    kind=item.kind,
                    state=state,
                    text=text[place : place + BLOCK_CHARS],
                    chars=len(text),
                    tokens=round(tokens * ruler.factor),
                )
            )
        facts = simulation.facts_until
        basis = request.seen if facts is None or query.request < facts else "estimate"
        return RequestText(
            request=query.request,
            policy=simulation.policy,
            basis=basis,
            note=BASIS[basis],
            blocks=tuple(blocks),
            first=query.first,
            total=total,
            tokens=round(simulation.sizes[query.request].total),
        )

    def _check(self, request: int, item: int) -> None:
        timeline = self.review.timeline
        if request >= len(timeline.requests) or item >= len(timeline.items):
            raise IndexError


def _number(value: float) -> float | int:
    """Return a slider's value as a preset takes it: whole numbers without a fraction."""
    return int(value) if value.is_integer() else value
