"""Answer a view's questions about one session: from its timeline, and from replays that are kept while it is shown."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace

from palimpsest.review.comparison.price_file import without_files
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.compaction_losses import CompactionLosses
from palimpsest.review.request_contents.shown_request import ShownRequest, request_at
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.track_view import track_of
from palimpsest.review.timeline_view.view_queries import (
    BLOCK_CHARS,
    LONGEST_NAME,
    MOST_BLOCKS,
    TEXT_CHARS,
    AskCompaction,
    AskItem,
    AskRequest,
    AskTrack,
    AskView,
    CompactionText,
    ItemText,
    LostKind,
    RequestText,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError

MOST_LOST = 200
"""Lost names of one compaction that are told, those first that were needed; the kinds count all."""


class ViewAnswers:
    """Answers the questions about one session.

    Responsibilities: turn what a person can mend into one sentence; keep what is asked for in pieces. Pure reading: nothing is run, sent or written.
    """

    def __init__(
        self,
        review: SessionReview,
        *,
        own: bool = False,
        seq: int = 0,
        epoch: str = "",
    ) -> None:
        self.review = review
        self.seq = seq
        self.epoch = epoch
        self._own = own
        self._shown: tuple[Simulation, ShownRequest] | None = None
        self._losses: tuple[str | None, CompactionLosses] | None = None

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
            case AskView(after=after, epoch=epoch) if after == self.seq and epoch in (
                None,
                self.epoch,
            ):
                return ViewAnswer(unchanged=True)
            case AskView():
                view = timeline_view(
                    self.review,
                    without_files(query.price),
                    own=self._own,
                    seq=self.seq,
                    epoch=self.epoch,
                )
                return ViewAnswer(view=view)
            case AskTrack():
                words = without_files(query.price)
                price = self.review.replay_price(words)
                found = self._simulation(query.policy, query.numbers, query.window, words)
                return ViewAnswer(track=track_of(self.review, found, price))
            case AskItem():
                return ViewAnswer(item=self._item(query))
            case AskRequest():
                return ViewAnswer(request=self._request(query))
            case AskCompaction():
                return ViewAnswer(compaction=self._compaction(query))

    def _simulation(
        self,
        policy: str,
        numbers: Mapping[str, float],
        window: int = 0,
        price: str | None = None,
    ) -> Simulation:
        written = {name: _number(value) for name, value in numbers.items()}
        chosen = self.review.policy(policy, **written)
        return self.review.replays.simulation(chosen, self.review.ruler_at(price), window)

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
        self._check(query.request, 0)
        simulation = self._simulation(query.policy, query.numbers)
        shown = self._contents(simulation, query.request)
        wanted = re.compile(re.escape(query.find), re.IGNORECASE)
        matching = [
            (one, found.start()) for one in shown.blocks if (found := wanted.search(one.text))
        ]
        return RequestText(
            request=query.request,
            policy=simulation.policy,
            basis=shown.basis,
            note=shown.note,
            blocks=tuple(
                _piece(one, max(place - BLOCK_CHARS // 4, 0) if query.find else 0)
                for one, place in matching[query.first : query.first + MOST_BLOCKS]
            ),
            first=query.first,
            total=len(matching),
            tokens=round(shown.tokens),
        )

    def _contents(self, simulation: Simulation, request: int) -> ShownRequest:
        """Return a request with its contents; the newest is kept, since it is asked for in pieces."""
        known = self._shown
        if known is None or known[0] is not simulation or known[1].request != request:
            known = simulation, request_at(simulation, request, self.review.sent)
            self._shown = known
        return known[1]

    def _compaction(self, query: AskCompaction) -> CompactionText:
        found = self._compactions(query.price)
        if query.number >= len(found):
            raise UserError("The session has no such compaction.")
        one = found[query.number]
        return CompactionText(
            number=query.number,
            request=one.request,
            undone=one.undone,
            items=one.items,
            item_tokens=tuple(round(tokens) for tokens in one.item_tokens),
            summary=one.summary[:TEXT_CHARS],
            summary_chars=len(one.summary),
            tokens_before=round(one.tokens_before),
            tokens_after=round(one.tokens_after),
            kinds=tuple(
                LostKind(
                    kind=kind,
                    found=number,
                    lost=len(one.lost_of(kind)),
                    needed=sum(lost.kind == kind for lost in one.needed),
                )
                for kind, number in one.found.items()
            ),
            lost=tuple(
                replace(lost, name=lost.name[:LONGEST_NAME])
                for lost in (*one.needed, *(lost for lost in one.lost if not lost.needed))[
                    :MOST_LOST
                ]
            ),
            repair=round(one.repair, 6),
            fetches=one.fetches,
            sentences=one.sentences,
        )

    def _compactions(self, price: str | None) -> CompactionLosses:
        """Return the recorded compactions; those at the newest price are kept."""
        if self._losses is None or self._losses[0] != price:
            self._losses = price, self.review.compactions(price=without_files(price))
        return self._losses[1]

    def _check(self, request: int, item: int) -> None:
        timeline = self.review.timeline
        if request >= len(timeline.requests) or item >= len(timeline.items):
            raise IndexError


def _piece(block: RequestItem, place: int) -> RequestItem:
    """Return a block with the piece of its text from a place on."""
    text = block.text[place : place + BLOCK_CHARS]
    return block.model_copy(update={"text": text, "tokens": round(block.tokens)})


def _number(value: float) -> float | int:
    """Return a slider's value as a preset takes it: whole numbers without a fraction."""
    return int(value) if value.is_integer() else value
