"""Answer a view's questions about one session from its timeline and from cached replays."""

import re
import time
from dataclasses import replace
from typing import Any

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.preset_text import UnknownPolicy
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.review.prices.price_file import without_files
from palimpsest.review.request_contents.compaction_losses import CompactionLosses
from palimpsest.review.request_contents.shown_request import ShownRequest, request_at
from palimpsest.review.request_contents.tool_definitions import tool_definitions
from palimpsest.review.session_notes.notes_table import SessionNotes
from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.question_limits import MAX_NAME_CHARS
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.track_view import track_of
from palimpsest.review.timeline_view.view_queries import (
    MAX_BLOCK_CHARS,
    MAX_BLOCKS,
    MAX_EXCERPT_CHARS,
    MAX_SEARCHED,
    MAX_TEXT_CHARS,
    MAX_USED_NAMES,
    MAX_USES,
    AskCompaction,
    AskComparison,
    AskItem,
    AskNotes,
    AskRequest,
    AskSearch,
    AskTrack,
    AskUses,
    AskView,
    CompactionText,
    ItemText,
    LostKind,
    NotesText,
    RequestText,
    SearchedItem,
    SearchedTexts,
    UsedNames,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.review.timeline_view.view_values import NoteView
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

EXCERPT_DIVISOR = 4
"""One part in so many of an excerpt stands before the text that was found."""
MAX_LOST_NAMES = 200
"""Maximum lost names of one compaction that are listed, needed ones first; ``kinds`` counts all of them."""


class ViewAnswers:
    """Answers the questions about one session.

    Responsibilities: turn errors that the user can correct into one sentence; store contents that a page asks for piece by piece.
    It only reads: nothing is sent or written, and no code is run but that of policies that a person gave in this process.
    """

    def __init__(
        self,
        review: SessionReview,
        *,
        is_writable: bool = False,
        seq: int = 0,
        epoch: str = "",
        keeps_replays: bool = True,
    ) -> None:
        """Without ``keeps_replays`` only values that the next replay of a policy continues are kept, not its replays."""
        self.review = review
        self.seq = seq
        self.epoch = epoch
        self._is_writable = is_writable
        self._newest_contents: tuple[Simulation, ShownRequest] | None = None
        self._newest_losses: tuple[str | None, CompactionLosses] | None = None
        self._values_by_policy: dict[str, dict[str, Any]] | None = None if keeps_replays else {}
        """By policy, the values derived from its newest replay."""

    def answer(self, query: ViewQuery, policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
        """Return the answer; for a question that cannot be answered, one with an ``error`` of one sentence.

        The ``policies`` stand before the presets in a view, and a question may name them.
        """
        started_at = time.perf_counter()
        try:
            answer = self._answer_or_raise(query, policies)
        except (UserError, ValueError) as error:
            answer = ViewAnswer(error=str(error))
        except IndexError:
            request_count, item_count = (
                len(self.review.timeline.requests),
                len(self.review.timeline.items),
            )
            answer = ViewAnswer(
                error=f"The session has {request_count:,} requests and {item_count:,} items."
            )
        milliseconds = round(1000 * (time.perf_counter() - started_at))
        return answer.model_copy(update={"milliseconds": milliseconds})

    def accepts(self, query: AskTrack, policies: ChosenPolicies = NO_POLICIES) -> bool:
        """Return whether the policy of a question takes the numbers in it."""
        try:
            self._policy_of_query(query, policies)
        except UnknownPolicy:
            return False
        return True

    def _answer_or_raise(self, query: ViewQuery, policies: ChosenPolicies) -> ViewAnswer:
        match query:
            case AskView(after=self.seq, epoch=None | self.epoch, part=None | "picture"):
                return ViewAnswer(unchanged=True)
            case AskView(part=part):
                view = timeline_view(
                    self.review,
                    without_files(query.price),
                    is_writable=self._is_writable,
                    seq=self.seq,
                    epoch=self.epoch,
                    is_picture=part == "picture",
                    policies=policies,
                )
                return ViewAnswer(view=view)
            case AskTrack():
                price_text = without_files(query.price)
                price = self.review.replay_price(price_text)
                simulation = self._simulation_of_query(query, policies, query.window, price_text)
                return ViewAnswer(track=track_of(self.review, simulation, price))
            case AskItem():
                return ViewAnswer(item=self._item_text(query, policies))
            case AskUses():
                return ViewAnswer(uses=self._used_names(query))
            case AskRequest():
                return ViewAnswer(request=self._request_text(query, policies))
            case AskCompaction():
                return ViewAnswer(compaction=self._compaction_text(query))
            case AskNotes() | AskSearch() | AskComparison():
                return self._answer_without_policy(query)

    def _answer_without_policy(self, query: AskNotes | AskSearch | AskComparison) -> ViewAnswer:
        match query:
            case AskNotes():
                return ViewAnswer(notes=notes_text(self.review.notes()))
            case AskSearch():
                return ViewAnswer(search=_searched_texts(self.review.timeline, query.text))
            case AskComparison():
                raise UserError("No other session is known here to compare this one with.")

    def _simulation_of_query(
        self,
        query: AskTrack | AskItem | AskRequest,
        policies: ChosenPolicies,
        window: int = 0,
        price: str | None = None,
    ) -> Simulation:
        policy = self._policy_of_query(query, policies)
        ruler = self.review.ruler_at(price)
        if self._values_by_policy is None:
            return self.review.replays.simulation(policy, ruler, window)
        derived_values = self._values_by_policy.setdefault(query.policy, {})
        return simulate(self.review.timeline, policy, ruler, window, derived_values)

    def _policy_of_query(
        self, query: AskTrack | AskItem | AskRequest, policies: ChosenPolicies
    ) -> ContextPolicy | None:
        """Return the policy that a question names, with the question's numbers; raises UserError."""
        policy = policies.get(query.policy, query.policy)
        numbers = {name: _preset_number(value) for name, value in query.numbers.items()}
        return self.review.policy(policy, **numbers)

    def _item_text(self, query: AskItem, policies: ChosenPolicies) -> ItemText:
        timeline = self._simulation_of_query(query, policies).timeline
        self._check_numbers(query.request, query.item)
        transition = timeline.transition_at(query.item, query.request)
        shown_text = None if transition is None else transition.shown
        text = timeline.read(query.item)
        if query.definition is not None:
            text = tool_definitions(text)[query.definition].text
        return ItemText(
            item=query.item,
            state="whole" if transition is None else transition.state,
            text=text[query.offset : query.offset + MAX_TEXT_CHARS],
            offset=query.offset,
            chars=len(text),
            shown=None if shown_text is None else shown_text[:MAX_TEXT_CHARS],
        )

    def _used_names(self, query: AskUses) -> tuple[UsedNames, ...]:
        self._check_numbers(query.request, query.item)
        names_by_request = self.review.references.used_names(query.item)
        later_entries = [entry for entry in names_by_request.items() if entry[0] >= query.request]
        return tuple(
            UsedNames(
                request=request,
                names=tuple(name[:MAX_NAME_CHARS] for name in names[:MAX_USED_NAMES]),
                total=len(names),
            )
            for request, names in later_entries[:MAX_USES]
        )

    def _request_text(self, query: AskRequest, policies: ChosenPolicies) -> RequestText:
        self._check_numbers(query.request, 0)
        simulation = self._simulation_of_query(query, policies)
        shown_request = self._contents_of_request(simulation, query.request)
        pattern = re.compile(re.escape(query.find), re.IGNORECASE)
        matching_blocks = [
            (block, match.start())
            for block in shown_request.blocks
            if (match := pattern.search(block.text))
        ]
        return RequestText(
            request=query.request,
            policy=simulation.policy_name,
            basis=shown_request.basis,
            note=shown_request.note,
            blocks=tuple(
                _block_excerpt(
                    block, max(offset - MAX_BLOCK_CHARS // EXCERPT_DIVISOR, 0) if query.find else 0
                )
                for block, offset in matching_blocks[query.first : query.first + MAX_BLOCKS]
            ),
            first=query.first,
            total=len(matching_blocks),
            tokens=round(shown_request.tokens),
        )

    def _contents_of_request(self, simulation: Simulation, request: int) -> ShownRequest:
        """Return a request with its contents; the newest one is stored, since a page asks for it piece by piece."""
        match self._newest_contents:
            case (replay, contents) if replay is simulation and contents.request == request:
                return contents
        contents = request_at(simulation, request, self.review.sent)
        self._newest_contents = simulation, contents
        return contents

    def _compaction_text(self, query: AskCompaction) -> CompactionText:
        if self._newest_losses is None or self._newest_losses[0] != query.price:
            self._newest_losses = (
                query.price,
                self.review.compactions(price=without_files(query.price)),
            )
        losses = self._newest_losses[1]
        if query.number >= len(losses):
            raise UserError("The session has no such compaction.")
        loss = losses[query.number]
        names = (*loss.needed_names, *(word for word in loss.lost if not word.needed))[
            :MAX_LOST_NAMES
        ]
        return CompactionText(
            number=query.number,
            request=loss.request,
            undone=loss.undone,
            items=loss.items,
            item_tokens=tuple(round(tokens) for tokens in loss.item_tokens),
            summary=loss.summary[:MAX_TEXT_CHARS],
            summary_chars=len(loss.summary),
            tokens_before=round(loss.tokens_before),
            tokens_after=round(loss.tokens_after),
            kinds=tuple(
                LostKind(
                    kind=kind,
                    found=found_count,
                    lost=len(loss.lost_of(kind)),
                    needed=sum(word.kind == kind for word in loss.needed_names),
                )
                for kind, found_count in loss.found.items()
            ),
            lost=tuple(replace(word, name=word.name[:MAX_NAME_CHARS]) for word in names),
            refetching=round(loss.refetching, 6),
            fetches=loss.fetches,
            sentences=loss.sentences,
        )

    def _check_numbers(self, request: int, item: int) -> None:
        timeline = self.review.timeline
        if request >= len(timeline.requests) or item >= len(timeline.items):
            raise IndexError


def notes_text(notes: SessionNotes) -> NotesText:
    """Return the answer to a question for the notes: each with its place in the view."""
    pairs = zip(notes, notes.places, strict=True)
    return NotesText(
        notes=tuple(NoteView(note=note, found=place) for note, place in pairs),
        problems=tuple(problem.sentence for problem in notes.problems),
    )


def _searched_texts(timeline: Timeline, text: str) -> SearchedTexts:
    """Return the items whose texts contain ``text``, whatever the case of its letters."""
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    searched_items: list[SearchedItem] = []
    matching_count = 0
    for item in range(len(timeline.items)):
        whole_text = timeline.read(item)
        first_match = pattern.search(whole_text)
        if first_match is None:
            continue
        matching_count += 1
        if len(searched_items) < MAX_SEARCHED:
            excerpt_start = max(first_match.start() - MAX_EXCERPT_CHARS // EXCERPT_DIVISOR, 0)
            excerpt = whole_text[excerpt_start : excerpt_start + MAX_EXCERPT_CHARS]
            match_count = sum(1 for _ in pattern.finditer(whole_text))
            searched_items.append(SearchedItem(item=item, count=match_count, excerpt=excerpt))
    return SearchedTexts(items=tuple(searched_items), total=matching_count)


def _block_excerpt(block: RequestItem, offset: int) -> RequestItem:
    text = block.text[offset : offset + MAX_BLOCK_CHARS]
    return block.model_copy(update={"text": text, "tokens": round(block.tokens)})


def _preset_number(value: float) -> float | int:
    """Return a slider's value as a preset takes it: a whole number as an int."""
    return int(value) if value.is_integer() else value
