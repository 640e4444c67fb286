"""The outputs among a timeline's items, in the form that the engine's rules use.

``context/reduction/request_outputs.py`` defines that form; ``item_request.py`` applies the rules' decisions.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from palimpsest.context.reduction.request_outputs import OutputReduction
from palimpsest.context.reduction.superseded_reads import NewerCall, superseded_calls
from palimpsest.context_policies.engine_presets.engine_step import EngineStep
from palimpsest.context_policies.items.engine_sizes import char_sizes, file_calls
from palimpsest.context_policies.items.reducible import FIXED_KINDS


class ItemOutputs:
    """The outputs of a session at a step of a replay; see ``RequestOutputs``."""

    def __init__(self, step: EngineStep) -> None:
        self.step = step
        self.turn_starts: dict[int, int] = {}
        """The first items of the newest turns."""

    def newest_first(self) -> Iterator["ItemOutput"]:
        step = self.step
        for item in reversed(step.outputs):
            if step.shown_view.shows(item) and step.shown_view.state(item) != "cleared":
                yield ItemOutput(self, item)

    @property
    def tokens_at_most(self) -> int:
        """An upper bound of the tokens of the outputs that are not cleared."""
        step = self.step
        sizes, covered_until = step.sizes, min(step.state.covered_until, step.view.count)
        cleared = (
            sizes.whole_tokens[int(item)]
            for item, numbers in step.reduction_numbers.items()
            if "text" in numbers and int(item) >= covered_until
        )
        tokens = sizes.outputs_until[step.view.count] - sizes.outputs_until[covered_until]
        return tokens - sum(cleared)

    def older_than(self, turns: int) -> Iterator["ItemOutput"]:
        step = self.step
        users = step.sizes.user_messages[: bisect_left(step.sizes.user_messages, step.view.count)]
        if turns > len(users):
            return
        newest = users[-turns] if turns else step.view.count
        for item in reversed(step.outputs):
            if step.sizes.first_items[item] > newest:
                continue
            if item < step.state.covered_until:
                return
            if step.shown_view.shows(item):
                yield ItemOutput(self, item)

    def newer_call(self, part_id: str) -> NewerCall | None:
        return self._newer.get(part_id)

    def all_chars(self, *, counts_width: bool) -> int:
        step = self.step
        sizes = char_sizes(step.view.timeline, counts_width=counts_width)
        char_sum = sum(sizes[item] for item in step.state.shown_summary)
        for index in range(step.view.count):
            if step.view.item(index).kind not in FIXED_KINDS and step.shown_view.shows(index):
                is_whole = step.shown_view.state(index) == "whole"
                char_sum += sizes[index] if is_whole else step.shown_view.chars(index)
        return char_sum

    def count(self, text: str) -> int:
        return self.step.sizes.count(text)

    def reductions_by(self, rule: str) -> dict[str, OutputReduction]:
        step = self.step
        return {
            (name := step.sizes.part_ids[int(item)]): OutputReduction(
                name, "clear" if "text" in numbers else "truncate", numbers
            )
            for item, numbers in step.reduction_numbers.items()
            if numbers.get("rule") == rule and int(item) >= step.state.covered_until
        }

    def without_rule(self, rule: str) -> "ItemOutputs":
        reductions = self.reductions_by(rule)
        without_rule = self.step.copy() if reductions else self.step
        for name in reductions:
            without_rule.restore(without_rule.sizes.output_by_part[name])
        return ItemOutputs(without_rule)

    @cached_property
    def user_and_answer_positions(self) -> tuple[int, list[int]]:
        """The first item of the user's first message, and those of the model's answers since then."""
        messages = self.step.messages()
        prompts = (message.first_item for message in messages if message.is_from_user)
        answers = [message.first_item for message in messages if not message.is_from_user]
        if self.step.state.covered_until:
            return -1, [-1, *answers]
        return next(prompts, self.step.view.count), answers

    @cached_property
    def _newer(self) -> dict[str, NewerCall]:
        view, covered_until = self.step.shown_view, self.step.state.covered_until
        calls = (
            call
            for index, result, call in reversed(file_calls(view.timeline))
            if result < view.count and index >= covered_until and view.shows(index)
        )
        return superseded_calls(calls, {output.part_id for output in self.newest_first()})


class ItemOutput:
    """An output of a timeline; see ``RequestOutput``."""

    def __init__(self, outputs: ItemOutputs, item: int) -> None:
        step, timeline_item = outputs.step, outputs.step.view.item(item)
        self.outputs = outputs
        self.item = item
        self.part_id = step.sizes.part_ids[item]
        self.tool = timeline_item.tool if timeline_item.kind == "output" else timeline_item.kind
        self.shown_chars = step.shown_view.chars(item)
        self.tokens = step.tokens(item)
        self.is_cleared = step.shown_view.state(item) == "cleared"
        self.pinned = timeline_item.pinned
        self.is_kept_by_user = timeline_item.pinned or step.is_restored(item)

    @cached_property
    def whole_text(self) -> str:
        return self.outputs.step.view.read(self.item)

    @cached_property
    def shown_text(self) -> str:
        return self.outputs.step.shown_text(self.item)

    @cached_property
    def media_count(self) -> int:
        return len(self.outputs.step.media(self.item))

    def is_recent(self, turns: int) -> bool:
        step, turn_starts = self.outputs.step, self.outputs.turn_starts
        if turns not in turn_starts:
            turn_starts[turns] = step.start_of_turns(turns)
        return step.sizes.first_items[self.item] >= turn_starts[turns]

    def is_settled(self, answers: int) -> bool:
        first, answer_starts = self.outputs.user_and_answer_positions
        if answers > len(answer_starts):
            return False
        end = answer_starts[-answers] if answers else math.inf
        return first < self.outputs.step.sizes.first_items[self.item] < end
