"""The next request in terms of a timeline's items, so that the engine can make it fit the window.

The engine's decisions become changes of the step: nothing is journaled in a replay.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from palimpsest.context.budget.conservative_estimate import (
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    RESULT_CHARS_PER_TOKEN,
    RESULT_TOKENS,
)
from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.reduction.request_outputs import RuleAnswer
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context_policies.engine_presets.engine_step import EngineStep
from palimpsest.context_policies.engine_presets.item_outputs import ItemOutputs
from palimpsest.context_policies.interface.policy import Probe
from palimpsest.context_policies.items.engine_sizes import char_sizes
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import ItemState
from palimpsest.transcript.values import CHARS_PER_TOKEN

STATE_BY_ACTION: dict[str, ItemState] = {"truncate": "truncated", "clear": "cleared"}


@dataclass(frozen=True)
class ItemRequest:
    """A request at a step of a replay; see ``FittableRequest``."""

    step: EngineStep

    @property
    def policy(self) -> Policy:
        return self.step.policy

    @cached_property
    def facts(self) -> Facts:
        return self.step.facts()

    @property
    def outputs(self) -> ItemOutputs:
        return ItemOutputs(self.step)

    @property
    def total(self) -> int:
        return self.step.total

    def conservative_tokens(self) -> int:
        """Return an upper estimate of the request's tokens, counted as ``conservative_estimate.py`` counts messages."""
        step = self.step
        sizes = char_sizes(step.view.timeline, counts_width=False)
        tokens = result_count = 0
        chars_by_message: Counter[int] = Counter()
        for index in range(step.view.count):
            item = step.view.item(index)
            if item.kind == "tools" or not step.shown_view.shows(index):
                continue
            if item.kind == "media":
                tokens += MEDIA_TOKENS if step.tokens(index) else 0
            elif item.kind == "output":
                result_count += 1
                tokens += RESULT_TOKENS - (-step.shown_view.chars(index) // RESULT_CHARS_PER_TOKEN)
            else:
                name_chars = len(item.tool) if item.kind == "call" else 0
                chars_by_message[step.sizes.first_items[index]] += sizes[index] + name_chars
        tokens += MESSAGE_TOKENS * (len(chars_by_message) + result_count)
        tokens += sum(-(-chars // CHARS_PER_TOKEN) for chars in chars_by_message.values())
        tokens += step.summary_tokens
        return math.ceil(tokens * step.policy.overflow.safety_margin)

    def has_history(self, cause: Cause) -> bool:  # noqa: ARG002  # the answer of a refused request is no item
        return self.step.request.index > 0

    def with_reminders(self) -> tuple[tuple[Decision, ...], Self]:
        """Return the request unchanged: reminders are not items of a timeline."""
        return (), self

    def with_limits(self) -> tuple[tuple[Decision, ...], Self]:
        """Return the request unchanged: a timeline does not record the size of its pictures."""
        return (), self

    def with_reductions(self, rule: str, answer: RuleAnswer) -> tuple[tuple[Decision, ...], Self]:
        if answer.checked_figure is not None:
            self.step.keep_probe(Probe(*answer.checked_figure))
        for reduction in answer.reductions:
            index = self.step.sizes.output_by_part_id[reduction.part_id]
            if reduction.action == "restore":
                self.step.restore(index)
            else:
                numbers = {**reduction.numbers, "rule": rule}
                self.step.reduce(index, STATE_BY_ACTION[reduction.action], reduction.text, numbers)
        return (), self

    def note_check(self, check: BudgetCheck) -> None:
        self.step.budget_check = check
        if check.budget:
            self.step.keep_probe(Probe("tokens of the request", check.tokens, check.budget))
