"""The outputs among a timeline's items as the engine's rules see them.

``context/reduction/request_outputs.py`` says what a rule sees; ``item_request.py`` applies what it answers.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from palimpsest.context.reduction.request_outputs import OutputReduction
from palimpsest.context.reduction.superseded_reads import FileCall, NewerCall, superseded_calls
from palimpsest.review.policies.engine_sizes import char_sizes, file_calls
from palimpsest.review.policies.engine_step import EngineStep
from palimpsest.review.policies.reducible import BESIDE


class ItemOutputs:
    """The outputs of a session at a moment of a replay; see ``RequestOutputs``."""

    def __init__(self, step: EngineStep) -> None:
        self.step = step
        self.recent: dict[int, int] = {}
        """The first items of the newest so many turns."""

    def newest_first(self) -> Iterator["ItemOutput"]:
        step = self.step
        for item in reversed(step.outputs):
            if step.seen.shows(item) and step.seen.state(item) != "cleared":
                yield ItemOutput(self, item)

    @property
    def tokens_at_most(self) -> int:
        """More tokens than the outputs that are not cleared can have."""
        step = self.step
        sizes, gone = step.sizes, min(step.state.gone, step.view.count)
        away = (
            sizes.wholes[int(item)]
            for item, numbers in step.reduced.items()
            if "text" in numbers and int(item) >= gone
        )
        return sizes.outputs_sums[step.view.count] - sizes.outputs_sums[gone] - sum(away)

    def older(self, turns: int) -> Iterator["ItemOutput"]:
        step = self.step
        users = step.sizes.users[: bisect_left(step.sizes.users, step.view.count)]
        if turns > len(users):
            return
        newest = users[-turns] if turns else step.view.count
        for item in reversed(step.outputs):
            if step.sizes.firsts[item] > newest:
                continue
            if item < step.state.gone:
                return
            if step.seen.shows(item):
                yield ItemOutput(self, item)

    def newer_call(self, part_id: str) -> NewerCall | None:
        return self._newer.get(part_id)

    def all_chars(self, *, wide: bool) -> int:
        step = self.step
        sizes = char_sizes(step.view.timeline, wide=wide)
        total = sum(sizes[one] for one in step.state.adopted)
        for index in range(step.view.count):
            if step.view.item(index).kind not in BESIDE and step.seen.shows(index):
                whole = step.seen.state(index) == "whole"
                total += sizes[index] if whole else step.seen.chars(index)
        return total

    def count(self, text: str) -> int:
        return self.step.sizes.count(text)

    def made_by(self, rule: str) -> dict[str, OutputReduction]:
        step = self.step
        return {
            (name := step.sizes.parts[int(item)]): OutputReduction(
                name, "clear" if "text" in numbers else "truncate", numbers
            )
            for item, numbers in step.reduced.items()
            if numbers.get("rule") == rule and int(item) >= step.state.gone
        }

    def without(self, rule: str) -> "ItemOutputs":
        made = self.made_by(rule)
        bare = self.step.copied() if made else self.step
        for name in made:
            bare.restore(bare.sizes.places[name])
        return ItemOutputs(bare)

    @cached_property
    def settled(self) -> tuple[int, list[int]]:
        """The first item of the user's first message, and those of the model's answers since then."""
        messages = self.step.messages()
        prompts = (one.first for one in messages if one.is_users)
        answers = [one.first for one in messages if not one.is_users]
        if self.step.state.gone:
            return -1, [-1, *answers]
        return next(prompts, self.step.view.count), answers

    @cached_property
    def _newer(self) -> dict[str, NewerCall]:
        shown = {one.part_id for one in self.newest_first()}
        return superseded_calls(self._calls(), shown)

    def _calls(self) -> Iterator[FileCall]:
        step = self.step
        for index, result, call in reversed(file_calls(step.view.timeline)):
            if result < step.view.count and index >= step.state.gone and step.seen.shows(index):
                yield call


class ItemOutput:
    """An output of a timeline; see ``RequestOutput``."""

    def __init__(self, outputs: ItemOutputs, item: int) -> None:
        step, found = outputs.step, outputs.step.view.item(item)
        self.outputs = outputs
        self.item = item
        self.part_id = step.sizes.parts[item]
        self.tool = found.tool if found.kind == "output" else found.kind
        self.chars = step.seen.chars(item)
        self.tokens = step.tokens(item)
        self.cleared = step.seen.state(item) == "cleared"
        self.pinned = found.pinned
        self.kept = found.pinned or step.restored(item)

    @cached_property
    def whole(self) -> str:
        return self.outputs.step.view.read(self.item)

    @cached_property
    def shown(self) -> str:
        return self.outputs.step.text(self.item)

    @cached_property
    def media(self) -> int:
        return len(self.outputs.step.media(self.item))

    def is_recent(self, turns: int) -> bool:
        step, recent = self.outputs.step, self.outputs.recent
        if turns not in recent:
            recent[turns] = step.start_of_turns(turns)
        return step.sizes.firsts[self.item] >= recent[turns]

    def is_settled(self, answers: int) -> bool:
        first, known = self.outputs.settled
        if answers > len(known):
            return False
        at = self.outputs.step.sizes.firsts[self.item]
        return first < at and (not answers or at < known[-answers])
