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
        """The first item of the newest turns, by their number."""

    def newest_first(self) -> Iterator["ItemOutput"]:
        step = self.step
        for index in reversed(step.outputs):
            if step.shown_view.shows(index) and step.shown_view.state(index) != "cleared":
                yield ItemOutput(self, index)

    @property
    def tokens_at_most(self) -> int:
        """An upper bound of the tokens of the outputs that are not cleared."""
        step = self.step
        sizes, covered_until = step.sizes, min(step.state.covered_until, step.view.count)
        cleared_tokens = (
            sizes.whole_tokens[int(index)]
            for index, numbers in step.reduction_numbers.items()
            if "text" in numbers and int(index) >= covered_until
        )
        tokens = sizes.output_token_sums[step.view.count] - sizes.output_token_sums[covered_until]
        return tokens - sum(cleared_tokens)

    def older_than(self, turns: int) -> Iterator["ItemOutput"]:
        step = self.step
        message_starts = step.sizes.user_message_starts[
            : bisect_left(step.sizes.user_message_starts, step.view.count)
        ]
        if turns > len(message_starts):
            return
        newest_start = message_starts[-turns] if turns else step.view.count
        for index in reversed(step.outputs):
            if step.sizes.first_items[index] > newest_start:
                continue
            if index < step.state.covered_until:
                return
            if step.shown_view.shows(index):
                yield ItemOutput(self, index)

    def newer_call(self, part_id: str) -> NewerCall | None:
        return self._newer_calls.get(part_id)

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
        return self.step.sizes.count_tokens(text)

    def reductions_by(self, rule: str) -> dict[str, OutputReduction]:
        step = self.step
        return {
            (part_id := step.sizes.part_ids[int(index)]): OutputReduction(
                part_id, "clear" if "text" in numbers else "truncate", numbers
            )
            for index, numbers in step.reduction_numbers.items()
            if numbers.get("rule") == rule and int(index) >= step.state.covered_until
        }

    def without_rule(self, rule: str) -> "ItemOutputs":
        reductions = self.reductions_by(rule)
        changed_step = self.step.copy() if reductions else self.step
        for part_id in reductions:
            changed_step.restore(changed_step.sizes.output_by_part_id[part_id])
        return ItemOutputs(changed_step)

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
    def _newer_calls(self) -> dict[str, NewerCall]:
        view, covered_until = self.step.shown_view, self.step.state.covered_until
        calls = (
            call
            for index, result, call in reversed(file_calls(view.timeline))
            if result < view.count and index >= covered_until and view.shows(index)
        )
        return superseded_calls(calls, {output.part_id for output in self.newest_first()})


class ItemOutput:
    """An output of a timeline; see ``RequestOutput``."""

    def __init__(self, outputs: ItemOutputs, index: int) -> None:
        step, item = outputs.step, outputs.step.view.item(index)
        self.outputs = outputs
        self.index = index
        self.part_id = step.sizes.part_ids[index]
        self.tool = item.tool if item.kind == "output" else item.kind
        self.shown_chars = step.shown_view.chars(index)
        self.tokens = step.tokens(index)
        self.is_cleared = step.shown_view.state(index) == "cleared"
        self.pinned = item.pinned
        self.is_kept_by_user = item.pinned or step.is_restored(index)

    @cached_property
    def whole_text(self) -> str:
        return self.outputs.step.view.read(self.index)

    @cached_property
    def shown_text(self) -> str:
        return self.outputs.step.shown_text(self.index)

    @cached_property
    def media_count(self) -> int:
        return len(self.outputs.step.media(self.index))

    def is_recent(self, turns: int) -> bool:
        step, turn_starts = self.outputs.step, self.outputs.turn_starts
        if turns not in turn_starts:
            turn_starts[turns] = step.start_of_turns(turns)
        return step.sizes.first_items[self.index] >= turn_starts[turns]

    def is_settled(self, answers: int) -> bool:
        first_user_item, answer_starts = self.outputs.user_and_answer_positions
        if answers > len(answer_starts):
            return False
        end = answer_starts[-answers] if answers else math.inf
        return first_user_item < self.outputs.step.sizes.first_items[self.index] < end
