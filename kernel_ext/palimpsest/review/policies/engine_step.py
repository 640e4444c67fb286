"""One step of a light engine policy: what it sees and decides, and the sizes that follow.

A step works on copies of the state and returns a new one, so that the same view gives the same decisions again.
"""

import copy
import dataclasses
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from palimpsest.context.budget.request_tokens import BudgetCheck, reserve, usage_ratio
from palimpsest.context.budget.window_guard import DEFAULT_WINDOW
from palimpsest.context.reduction.truncation import shorten
from palimpsest.context.request_assembly.fit import FitAttempts
from palimpsest.review.policies.engine_sizes import EngineSizes, engine_sizes, is_users
from palimpsest.review.policies.engine_state import EngineState, ShownMessage
from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.reducible import BESIDE
from palimpsest.review.policies.stage_view import StageView
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import GONE_STATES, ItemState, TimelineRequest
from palimpsest.transcript.values import ModelInfo, ModelRef, Usage


class EngineStep:
    """A moment of a replay, as the engine's deciders need it.

    Responsibilities: show items with what was decided in this step; count the request as the engine does;
    collect the decisions.
    """

    def __init__(self, policy: Policy, state: EngineState, view: PolicyView, summary: int) -> None:
        self.policy = policy
        self.state = state
        self.view = view
        self.summary = summary
        """Tokens of a summary that was never written."""
        self.request = view.request
        """The request that is about to be sent."""
        index = view.request.index
        self.before = view.timeline.requests[index - 1] if index else None
        """The request before it."""
        self.sizes: EngineSizes = engine_sizes(view.timeline, policy.estimator)
        self.reduced = dict(state.reduced)
        self.counted = dict(state.counted)
        self.below = dict(state.below)
        self.tries = FitAttempts(*state.tries)
        self.changes: dict[int, Change] = {}
        self.seen = StageView(view, self.changes, policy.estimator, policy.estimator)
        """The view with what this step decided."""
        self.probe: Probe | None = None
        self.checked = BudgetCheck(fits=True, tokens=0, budget=0)
        """Whether the request fits, as the policy's rule says."""
        self.at_turn_end = view.turn != view.request.turn
        """A turn has ended, and the next one has not begun."""
        self._base = self._counted()
        self._more = 0
        """Tokens by which the decisions of this step change the request."""

    # What is seen

    @property
    def sender(self) -> TimelineRequest:
        """The request whose model and window hold now: the newest one, until the next turn has begun."""
        return self.before or self.request if self.at_turn_end else self.request

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The outputs so far that may be reduced, oldest first."""
        outputs = self.sizes.outputs
        return outputs[: bisect_left(outputs, self.view.count)]

    def media(self, item: int) -> Sequence[int]:
        """Return the images of a result that are shown."""
        return [one for one in self._attached(item) if self.tokens(one)]

    def _attached(self, item: int) -> Iterator[int]:
        """Yield the images of a result."""
        items = self.view.timeline.items
        group = items[item].group
        behind = range(item + 1, self.view.count) if group else range(0)
        return takewhile(
            lambda one: (items[one].kind, items[one].group) == ("media", group), behind
        )

    def tokens(self, item: int) -> int:
        """Return the tokens of an item's text as it is shown, without what stands around it."""
        if self.seen.state(item) == "whole":
            return self.sizes.wholes[item] - self.sizes.frames[item]
        change = self.changes.get(item)
        if change is None:
            return self.view.tokens(item)
        if change.tokens is not None:
            return change.tokens
        return 0 if change.state in GONE_STATES else self.sizes.count(change.shown)

    def framed(self, item: int) -> int:
        """Return the tokens of an item with what stands around it; 0 where it is not in the request."""
        return self.tokens(item) + self.sizes.frames[item] if self.seen.shows(item) else 0

    def text(self, item: int) -> str:
        """Return the text of an item as it is shown."""
        state, numbers = self.seen.state(item), self.reduced.get(str(item), {})
        if state == "whole":
            return self.view.read(item)
        if state == "truncated" and "head_chars" in numbers:
            return shorten(self.view.read(item), numbers)
        return str(numbers.get("text", ""))

    def restored(self, item: int) -> bool:
        """Return whether a person restored an output, so that nothing may reduce it."""
        return item in self.sizes.edited and self.seen.state(item) == "whole"

    @property
    def total(self) -> int:
        """Tokens of the request as it stands, as the engine counts them."""
        return self._base + self._more

    def _counted(self) -> int:
        """Return the tokens of the request before this step decides anything."""
        sizes, state, view = self.sizes, self.state, self.view
        extra = sizes.until[view.count] - sizes.until[min(state.gone, view.count)]
        extra += sum(sizes.extras[one] for one in sizes.beside if one < state.gone)
        for name in state.reduced:
            item = int(name)
            if item >= state.gone and view.state(item) not in (*GONE_STATES, "whole"):
                extra += sizes.frames[item] - sizes.extras[item]
        away = [one for one in sizes.beside if one < view.count]
        away += [one for one in sizes.edited if state.gone <= one < view.count]
        extra -= sum(sizes.extras[one] for one in away if view.state(one) in GONE_STATES)
        extra += sum(sizes.extras[one] for one in state.adopted if view.state(one) == "whole")
        dropped = range(state.gone, min(state.dropped, view.count))
        extra -= sum(sizes.extras[one] for one in dropped if view.state(one) == "out")
        return view.total - state.unseen + extra + sizes.remainders[view.request.index]

    @cached_property
    def recorded_sizes(self) -> EngineSizes:
        """The sizes by the estimator that the recording was counted with; by the policy's own where that is unknown."""
        estimator = self.request.estimator or self.policy.estimator
        return engine_sizes(self.view.timeline, estimator)

    @property
    def compared(self) -> int:
        """Tokens of the request as it stands, by the estimator of the recording, to be compared with what it says."""
        sizes = self.recorded_sizes
        if sizes is self.sizes:
            return self.total
        gone, count = min(self.state.gone, self.view.count), self.view.count
        found = sizes.wholes_until[count] - sizes.wholes_until[gone] + self.summary_tokens
        there = [one for one in (*sizes.beside, *sizes.edited) if one < count]
        for one in there:
            if one in sizes.beside and one < gone:
                found += sizes.wholes[one]
            if (one >= gone or one in sizes.beside) and not self.seen.shows(one):
                found -= sizes.wholes[one]
        for name in self.reduced:
            one = int(name)
            if one >= gone and self.seen.shows(one):
                found += self.counted[name] + sizes.frames[one] - sizes.wholes[one]
        return found + sizes.remainders[self.request.index]

    @cached_property
    def window(self) -> int:
        """Tokens of the window; 0 where it has no limit."""
        known = self.state.window or self.sender.window
        own = self.view.timeline.origin == "palimpsest"
        return known or (0 if own else DEFAULT_WINDOW)

    @cached_property
    def model(self) -> ModelInfo:
        """What is known of the model, as far as the deciders ask."""
        request = self.sender
        return ModelInfo(
            ref=ModelRef(provider="recorded", name=request.model or "model"),
            window=self.window,
            input_limit=None if self.state.window else request.input_limit,
            output_limit=request.output_limit or self.policy.overflow.output_cap,
        )

    def facts(self) -> Facts:
        """Return what the deciders are told of this moment."""
        return Facts(
            now=self.now or 0,
            estimator=self.policy.estimator,
            calibration=self.calibration,
            window=self.window,
            reserve=reserve(self.policy, self.model),
            cache_age_seconds=self.cache_age,
            used_tokens=self.state.used if self.at_turn_end else self.total,
        )

    @property
    def now(self) -> int | None:
        """When this moment is, in milliseconds: a turn ends with the newest answer."""
        sent = self.sender
        return sent.ended or sent.started if self.at_turn_end else sent.started

    @property
    def calibration(self) -> float:
        """The ratio of reported to estimated tokens of the request before."""
        before = self.before
        if self.state.adopted and self.state.summarised_at == self.request.index:
            # The call for the recorded summary reported its usage, too.
            return self.request.calibration
        if before is None or before.usage is None or before.model != self.sender.model:
            return 1.0
        told = self._prompt_before(before)
        if told is not None:
            return usage_ratio(_with_prompt(before.usage, told), self.state.used)
        return usage_ratio(before.usage, self.sizes.requests[before.index])

    @property
    def cache_age(self) -> float | None:
        """Seconds since the provider's cache was used; None where that is not known or nothing is cached."""
        before, request = self.before, self.sender
        if before is None or request.caching is False or before.model != request.model:
            return None
        if before.started is None or self.now is None:
            return None
        touched = max(before.started, self.state.touched or 0)
        return max(self.now - touched, 0) / 1000

    def usage_before(self) -> Usage | None:
        """Return the usage that would have been reported, or assumed, for the request before; None where unknown."""
        before = self.before
        usage = (before.usage or before.assumed) if before is not None else None
        if before is None or usage is None:
            return None
        told = self._prompt_before(before)
        if told is not None:
            return usage if told == usage.prompt else _with_prompt(usage, told)
        recorded = self.recorded_sizes.requests[before.index]
        if self.state.compared == recorded or not recorded:
            return usage
        return _with_prompt(usage, round(usage.prompt * self.state.compared / recorded))

    def _prompt_before(self, before: TimelineRequest) -> int | None:
        """Return what would have been reported of the request before, where another agent sent it.

        None where we did: what was counted when it was sent tells how the replayed one would have been reported.
        """
        if before.estimator or before.reported is None:
            return None
        return self.view.reported(answer=False, since="nothing")

    def messages(self) -> list[ShownMessage]:
        """Return the messages that no summary covers and that are shown."""
        found: list[ShownMessage] = []
        state, firsts = self.state, self.sizes.firsts
        begin = max(state.gone, state.dropped)
        for index in (
            *(one for one in state.adopted[1:] if one < begin),
            *range(begin, self.view.count),
        ):
            if index == state.continued:
                found.append(ShownMessage(index, index, is_users=True))
            item = self.view.item(index)
            if item.kind in BESIDE or not self.seen.shows(index):
                continue
            if (
                found
                and found[-1].end > found[-1].first
                and firsts[found[-1].first] == firsts[index]
            ):
                found[-1] = found[-1]._replace(end=index + 1)
            else:
                told = item.continues or is_users(item)
                found.append(ShownMessage(index, index + 1, is_users=told))
        return found

    def start_of_turns(self, turns: int) -> int:
        """Return the first item of the newest so many turns that are shown, each begun by a message of the user."""
        begin = max(self.state.gone, self.state.dropped)
        users = self.sizes.users
        newest = users[bisect_left(users, begin) : bisect_left(users, self.view.count)]
        there = [one for one in newest if self.seen.shows(one)]
        there += [one for one in (self.state.continued, *self.state.adopted[1:]) if one >= 0]
        chosen = sorted(there)[-turns:] if turns else []
        return chosen[0] if chosen else self.view.count

    @property
    def summary_tokens(self) -> int:
        """Tokens of the summary that is shown, with what goes on after it."""
        place = (self.state.place,) if self.state.place >= 0 else ()
        shown = (*place, *self.state.adopted)
        return sum(self._weighed(one) for one in shown)

    # What is decided

    def reduce(self, item: int, state: ItemState, shown: str, numbers: Mapping[str, Any]) -> None:
        """Show an output otherwise; what stood with it goes where it is cleared."""
        gone = state == "cleared" or bool(numbers.get("without_media"))
        for one in self.media(item) if gone else ():
            self.change(Change(one, "cleared", chars=0, tokens=0))
        below = self.reduced.get(str(item), {})
        if below and below.get("rule") != numbers.get("rule"):
            self.below[str(item)] = below
        self.reduced[str(item)] = dict(numbers)
        if self.recorded_sizes is not self.sizes:
            self.counted[str(item)] = self.recorded_sizes.count(shown)
        self.change(Change(item, state, shown, numbers=numbers))

    def restore(self, item: int) -> None:
        """Show an output as it was before a decision that held for one request."""
        numbers = self.below.pop(str(item), None)
        self.reduced.pop(str(item), None)
        if numbers:
            self.reduce(item, "truncated", shorten(self.view.read(item), numbers), numbers)
            return
        self.change(Change(item, "whole"))
        for one in self._attached(item):
            self.change(Change(one, "whole"))

    def change(self, change: Change) -> None:
        """Add a decision about an item, if it may be decided upon."""
        item = change.item
        if self.view.item(item).pinned:
            return
        before = self._weighed(item)
        self.changes[item] = change
        self._more += self._weighed(item) - before

    def copied(self) -> "EngineStep":
        """Return a copy, to look at what other decisions would show."""
        made = copy.copy(self)
        made.reduced, made.counted, made.below = {**self.reduced}, {**self.counted}, {**self.below}
        made.changes = {**self.changes}
        made.seen = StageView(self.view, made.changes, self.policy.estimator, self.policy.estimator)
        return made

    def decided(self, state: EngineState) -> Decided:
        """Return what this step decides, with the state after it."""
        state = state._replace(
            reduced=self.reduced,
            counted=self.counted,
            below=self.below,
            tries=dataclasses.astuple(self.tries),
        )
        changes = tuple(self.changes.values())
        return Decided(state, changes, self.probe, fired=bool(changes))

    def note(self, probe: Probe) -> None:
        """Keep the probe that is nearest to its threshold."""
        if self.probe is None or probe.nearness > self.probe.nearness:
            self.probe = probe

    def _weighed(self, item: int) -> int:
        """Return the tokens that an item adds to the request now."""
        is_summary = self.seen.state(item) == "summarised"
        return self.tokens(item) if is_summary else self.framed(item)


def _with_prompt(usage: Usage, prompt: int) -> Usage:
    """Return a usage with another prompt, of which nothing is known but its size."""
    update = {"input": prompt, "cache_read": 0, "cache_write": 0, "total": None}
    return usage.model_copy(update=update)
