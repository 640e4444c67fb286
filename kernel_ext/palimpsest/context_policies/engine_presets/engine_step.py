"""One step of a light engine policy: its view, its decisions, and the sizes that result.

A step works on copies of the state and returns a new one, so that the same view gives the same decisions again.
"""

import copy
import dataclasses
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from palimpsest.context.budget.request_tokens import BudgetCheck, reserved_tokens, usage_ratio
from palimpsest.context.budget.window_guard import DEFAULT_WINDOW
from palimpsest.context.reduction.truncation import apply_truncation
from palimpsest.context.request_assembly.fit import FitAttempts
from palimpsest.context_policies.engine_presets.engine_state import EngineState, ShownMessage
from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.stage_view import StageView
from palimpsest.context_policies.items.engine_sizes import EngineSizes, engine_sizes, is_from_user
from palimpsest.context_policies.items.reducible import FIXED_KINDS
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import GONE_STATES, ItemState, TimelineRequest
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage


class EngineStep:
    """One step of a replay for the engine's deciders: shows items, counts the request, collects decisions."""

    def __init__(
        self, policy: Policy, state: EngineState, view: PolicyView, placeholder_tokens: int
    ) -> None:
        self.policy = policy
        self.state = state
        self.view = view
        self.placeholder_tokens = placeholder_tokens
        """Tokens of a placeholder summary."""
        self.request = view.request
        """The request that is about to be sent."""
        request_index = view.request.index
        self.previous_request = view.timeline.requests[request_index - 1] if request_index else None
        """The request before ``request``; None before the first."""
        self.sizes: EngineSizes = engine_sizes(view.timeline, policy.estimator)
        self.reduction_numbers = dict(state.reduction_numbers)
        self.recorded_tokens = dict(state.recorded_tokens)
        self.replaced_truncations = dict(state.replaced_truncations)
        self.attempts = FitAttempts(*state.attempts)
        self.changes: dict[int, Change] = {}
        self.shown_view = StageView(view, self.changes, policy.estimator, policy.estimator)
        """The view with the decisions of this step."""
        self.probe: Probe | None = None
        self.budget_check = BudgetCheck(fits=True, tokens=0, budget=0)
        """Whether the request fits, by the policy's rule."""
        self.at_turn_end = view.turn != view.request.turn
        """Whether the step is between two turns."""
        self._tokens_at_start = self._tokens_without_decisions()
        self._added_by_decisions = 0
        """Tokens by which the decisions of this step change the request."""

    # The view

    @property
    def model_request(self) -> TimelineRequest:
        """The request whose model and window apply now: the newest one, until the next turn has begun."""
        return self.previous_request or self.request if self.at_turn_end else self.request

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The outputs so far that may be reduced, oldest first."""
        outputs = self.sizes.outputs
        return outputs[: bisect_left(outputs, self.view.count)]

    def media(self, index: int) -> Sequence[int]:
        """Return the shown images of a result."""
        return [image for image in self._images_of(index) if self.tokens(image)]

    def _images_of(self, index: int) -> Iterator[int]:
        items = self.view.timeline.items
        group = items[index].group
        following_items = range(index + 1, self.view.count) if group else range(0)
        return takewhile(
            lambda index: (items[index].kind, items[index].group) == ("media", group),
            following_items,
        )

    def tokens(self, index: int) -> int:
        """Return the tokens of an item's shown text, without its frames."""
        if self.shown_view.state(index) == "whole":
            return self.sizes.whole_tokens[index] - self.sizes.frame_tokens[index]
        change = self.changes.get(index)
        if change is None:
            return self.view.tokens(index)
        if change.tokens is not None:
            return change.tokens
        return 0 if change.state in GONE_STATES else self.sizes.count_tokens(change.replacement)

    def framed_tokens(self, index: int) -> int:
        """Return the tokens of an item with its frames; 0 where it is not in the request."""
        return (
            self.tokens(index) + self.sizes.frame_tokens[index]
            if self.shown_view.shows(index)
            else 0
        )

    def shown_text(self, index: int) -> str:
        """Return the shown text of an item."""
        state, numbers = self.shown_view.state(index), self.reduction_numbers.get(str(index), {})
        if state == "whole":
            return self.view.read(index)
        if state == "truncated" and "head_chars" in numbers:
            return apply_truncation(self.view.read(index), numbers)
        return str(numbers.get("text", ""))

    def is_restored(self, index: int) -> bool:
        """Return whether the user restored an output, so that nothing may reduce it."""
        return index in self.sizes.user_edited_items and self.shown_view.state(index) == "whole"

    @property
    def total(self) -> int:
        """Tokens of the request in its current state, as the engine counts them."""
        return self._tokens_at_start + self._added_by_decisions

    def _tokens_without_decisions(self) -> int:
        sizes, state, view = self.sizes, self.state, self.view
        extras, covered_until = sizes.extra_tokens, state.covered_until
        total = view.total - state.unseen_tokens + sizes.remainder_tokens[view.request.index]
        total += (
            sizes.extra_token_sums[view.count]
            - sizes.extra_token_sums[min(covered_until, view.count)]
        )
        total += sum(extras[index] for index in sizes.section_items if index < covered_until)
        for key in state.reduction_numbers:
            index = int(key)
            if index >= covered_until and view.state(index) not in (*GONE_STATES, "whole"):
                total += sizes.frame_tokens[index] - extras[index]
        possibly_hidden = [index for index in sizes.section_items if index < view.count]
        possibly_hidden += [
            index for index in sizes.user_edited_items if covered_until <= index < view.count
        ]
        total -= sum(extras[index] for index in possibly_hidden if view.state(index) in GONE_STATES)
        total += sum(extras[index] for index in state.shown_summary if view.state(index) == "whole")
        beyond_limit = range(covered_until, min(state.first_in_limit, view.count))
        return total - sum(extras[index] for index in beyond_limit if view.state(index) == "out")

    @cached_property
    def recorded_sizes(self) -> EngineSizes:
        """The sizes by the estimator that the recording was counted with; by the policy's own where that is unknown."""
        estimator = self.request.estimator or self.policy.estimator
        return engine_sizes(self.view.timeline, estimator)

    @property
    def tokens_as_recorded(self) -> int:
        """Tokens of the current request by the recording's estimator, to be compared with the recorded count."""
        sizes = self.recorded_sizes
        if sizes is self.sizes:
            return self.total
        covered_until, count = min(self.state.covered_until, self.view.count), self.view.count
        tokens = (
            sizes.whole_token_sums[count]
            - sizes.whole_token_sums[covered_until]
            + self.summary_tokens
        )
        corrected_items = [
            index for index in (*sizes.section_items, *sizes.user_edited_items) if index < count
        ]
        for index in corrected_items:
            is_section = index in sizes.section_items
            if is_section and index < covered_until:
                tokens += sizes.whole_tokens[index]
            if (is_section or index >= covered_until) and not self.shown_view.shows(index):
                tokens -= sizes.whole_tokens[index]
        for key in self.reduction_numbers:
            index = int(key)
            if index >= covered_until and self.shown_view.shows(index):
                tokens += (
                    self.recorded_tokens[key]
                    + sizes.frame_tokens[index]
                    - sizes.whole_tokens[index]
                )
        return tokens + sizes.remainder_tokens[self.request.index]

    @cached_property
    def window(self) -> int:
        """Tokens of the window; 0 where it has no limit."""
        known_window = self.state.window or self.model_request.window
        is_ours = self.view.timeline.origin == "palimpsest"
        return known_window or (0 if is_ours else DEFAULT_WINDOW)

    @cached_property
    def model(self) -> ModelInfo:
        """The facts about the model that the deciders use."""
        request = self.model_request
        return ModelInfo(
            ref=ModelRef(provider="recorded", name=request.model or "model"),
            window=self.window,
            input_limit=None if self.state.window else request.input_limit,
            output_limit=request.output_limit or self.policy.overflow.output_cap,
        )

    def facts(self) -> Facts:
        """Return the facts for the deciders at this step."""
        return Facts(
            now=self.now_ms or 0,
            estimator=self.policy.estimator,
            calibration=self.calibration,
            window=self.window,
            reserve=reserved_tokens(self.policy, self.model),
            cache_age_seconds=self.cache_age_seconds,
            used_tokens=self.state.used_tokens if self.at_turn_end else self.total,
        )

    @property
    def now_ms(self) -> int | None:
        """The time of this step in milliseconds: a turn ends with the newest answer."""
        request = self.model_request
        return request.ended or request.started if self.at_turn_end else request.started

    @property
    def calibration(self) -> float:
        """The ratio of reported to estimated tokens of the request before."""
        previous = self.previous_request
        if self.state.shown_summary and self.state.summarised_at == self.request.index:
            # The call for the recorded summary reported its usage, too.
            return self.request.calibration
        if previous is None or previous.usage is None or previous.model != self.model_request.model:
            return 1.0
        prompt_tokens = self._reported_prompt_tokens(previous)
        if prompt_tokens is not None:
            return usage_ratio(with_prompt(previous.usage, prompt_tokens), self.state.used_tokens)
        return usage_ratio(previous.usage, self.sizes.request_tokens[previous.index])

    @property
    def cache_age_seconds(self) -> float | None:
        """Seconds since the provider's cache was last used; None where that is not known or nothing is cached."""
        previous, request = self.previous_request, self.model_request
        if previous is None or request.caching is False or previous.model != request.model:
            return None
        if previous.started is None or self.now_ms is None:
            return None
        last_use = max(previous.started, self.state.summary_requested_at or 0)
        return max(self.now_ms - last_use, 0) / 1000

    def previous_usage(self) -> Usage | None:
        """Return the usage that the replay assumes for the request before; None where unknown."""
        previous = self.previous_request
        usage = (previous.usage or previous.assumed) if previous is not None else None
        if previous is None or usage is None:
            return None
        prompt_tokens = self._reported_prompt_tokens(previous)
        if prompt_tokens is not None:
            return usage if prompt_tokens == usage.prompt else with_prompt(usage, prompt_tokens)
        recorded_request_tokens = self.recorded_sizes.request_tokens[previous.index]
        if self.state.tokens_as_recorded == recorded_request_tokens or not recorded_request_tokens:
            return usage
        return with_prompt(
            usage, round(usage.prompt * self.state.tokens_as_recorded / recorded_request_tokens)
        )

    def _reported_prompt_tokens(self, previous: TimelineRequest) -> int | None:
        """Return the prompt tokens that the provider would have reported for another agent's request.

        None for a request of ours, whose recorded count and report give the ratio.
        """
        if previous.estimator or previous.reported is None:
            return None
        return self.view.reported(answer=False, later_items="nothing")

    def messages(self) -> list[ShownMessage]:
        """Return the shown messages that no summary covers."""
        shown_messages: list[ShownMessage] = []
        state, first_items = self.state, self.sizes.first_items
        begin = max(state.covered_until, state.first_in_limit)
        for index in (
            *(index for index in state.shown_summary[1:] if index < begin),
            *range(begin, self.view.count),
        ):
            if index == state.continuation_place:
                shown_messages.append(ShownMessage(index, index, is_from_user=True))
            item = self.view.item(index)
            if item.kind in FIXED_KINDS or not self.shown_view.shows(index):
                continue
            if (
                shown_messages
                and shown_messages[-1].end > shown_messages[-1].first_item
                and first_items[shown_messages[-1].first_item] == first_items[index]
            ):
                shown_messages[-1] = shown_messages[-1]._replace(end=index + 1)
            else:
                shown_messages.append(
                    ShownMessage(
                        index, index + 1, is_from_user=item.continues or is_from_user(item)
                    )
                )
        return shown_messages

    def start_of_turns(self, turns: int) -> int:
        """Return the first item of the newest turns that are shown, each begun by a message of the user."""
        begin = max(self.state.covered_until, self.state.first_in_limit)
        message_starts = self.sizes.user_message_starts
        newest = message_starts[
            bisect_left(message_starts, begin) : bisect_left(message_starts, self.view.count)
        ]
        shown_starts = [index for index in newest if self.shown_view.shows(index)]
        continuations = (self.state.continuation_place, *self.state.shown_summary[1:])
        shown_starts += [index for index in continuations if index >= 0]
        newest_starts = sorted(shown_starts)[-turns:] if turns else []
        return newest_starts[0] if newest_starts else self.view.count

    @property
    def summary_tokens(self) -> int:
        """Tokens of the shown summary, with the text that continues after it."""
        placeholder_items = (self.state.summary_place,) if self.state.summary_place >= 0 else ()
        summary_items = (*placeholder_items, *self.state.shown_summary)
        return sum(self._added_tokens(index) for index in summary_items)

    # The decisions

    def reduce(
        self, index: int, state: ItemState, shown_text: str, numbers: Mapping[str, Any]
    ) -> None:
        """Reduce an output; its images are removed where it is cleared."""
        removes_images = state == "cleared" or bool(numbers.get("without_media"))
        for image in self.media(index) if removes_images else ():
            self.add_change(Change(image, "cleared", chars=0, tokens=0))
        numbers_before = self.reduction_numbers.get(str(index), {})
        if numbers_before and numbers_before.get("rule") != numbers.get("rule"):
            self.replaced_truncations[str(index)] = numbers_before
        self.reduction_numbers[str(index)] = dict(numbers)
        if self.recorded_sizes is not self.sizes:
            self.recorded_tokens[str(index)] = self.recorded_sizes.count_tokens(shown_text)
        self.add_change(Change(index, state, shown_text, numbers=numbers))

    def restore(self, index: int) -> None:
        """Show an output as before a decision that applied to a single request."""
        numbers = self.replaced_truncations.pop(str(index), None)
        self.reduction_numbers.pop(str(index), None)
        if numbers:
            self.reduce(
                index, "truncated", apply_truncation(self.view.read(index), numbers), numbers
            )
            return
        self.add_change(Change(index, "whole"))
        for image in self._images_of(index):
            self.add_change(Change(image, "whole"))

    def add_change(self, change: Change) -> None:
        """Add a decision about an item, if the item may be changed."""
        index = change.item
        if self.view.item(index).pinned:
            return
        tokens_before = self._added_tokens(index)
        self.changes[index] = change
        self._added_by_decisions += self._added_tokens(index) - tokens_before

    def copy(self) -> "EngineStep":
        """Return a copy, to try other decisions on."""
        changed_copy = copy.copy(self)
        changed_copy.reduction_numbers = {**self.reduction_numbers}
        changed_copy.recorded_tokens = {**self.recorded_tokens}
        changed_copy.replaced_truncations = {**self.replaced_truncations}
        changed_copy.changes = {**self.changes}
        changed_copy.shown_view = StageView(
            self.view, changed_copy.changes, self.policy.estimator, self.policy.estimator
        )
        return changed_copy

    def policy_result(self, state: EngineState) -> PolicyResult:
        """Return the decisions of this step, with the state after it."""
        state = state._replace(
            reduction_numbers=self.reduction_numbers,
            recorded_tokens=self.recorded_tokens,
            replaced_truncations=self.replaced_truncations,
            attempts=dataclasses.astuple(self.attempts),
        )
        changes = tuple(self.changes.values())
        return PolicyResult(state, changes, self.probe, fired=bool(changes))

    def keep_probe(self, probe: Probe) -> None:
        """Keep a probe if it is nearer to its threshold than the one before."""
        if self.probe is None or probe.nearness > self.probe.nearness:
            self.probe = probe

    def _added_tokens(self, index: int) -> int:
        """Return the tokens that an item adds to the request now."""
        is_summary = self.shown_view.state(index) == "summarised"
        return self.tokens(index) if is_summary else self.framed_tokens(index)


def with_prompt(usage: Usage, prompt_tokens: int) -> Usage:
    """Return a usage with another prompt size, without what was read from or written to the cache."""
    update = {"input": prompt_tokens, "cache_read": 0, "cache_write": 0, "total": None}
    return usage.model_copy(update=update)
