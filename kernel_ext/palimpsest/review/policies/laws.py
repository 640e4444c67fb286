"""What every context policy keeps to, and a checker that names the item, the request and the law.

A policy decides the same twice, knows only what was sent so far, keeps calls with their results, leaves what
is pinned and what waits for a result, makes nothing longer, and remembers only what JSON can hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from palimpsest.review.policies.policy import (
    Change,
    PolicyView,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import GONE_STATES, ItemState

TWICE = "with the same view it decides the same"
KNOWN = (
    "it decides on items that the request could show, which are numbered from 0 to below view.count"
)
STATE = "it shows an item as truncated, cleared, masked, summarised, offloaded or out"
PAIRED = "a call goes only together with its result, and a result with its call"
PINNED = "what a person pinned stays as it is"
OPEN = "a call that waits for its result stays"
LONGER = "what stands in the place of an item is not longer than the item"
STICKY = "what a sticky policy decided, it does not take back by itself"
JSON = "what it remembers can be written as JSON"
STATES = frozenset(get_args(ItemState)) - {"reverted"}
PLACEHOLDER_CHARS = 80
"""The longest placeholder of the presets, which may be longer than a very short result."""


class PolicyBreach(UserError):
    """A policy broke a law."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A law, and where it was broken."""

    law: str
    request: int
    item: int | None = None
    label: str = ""

    def error(self, policy: str) -> PolicyBreach:
        """Return the breach as an error that names the policy, the request, the item and the law."""
        item = "" if self.item is None else f", item {self.item}"
        label = f" ({self.label})" if self.label else ""
        return PolicyBreach(
            f"The policy {policy!r} breaks a law at request {self.request + 1}{item}{label}: {self.law}."
        )


def breaches(
    changes: Sequence[Change],
    view: PolicyView,
    *,
    sticky: bool,
    placeholder: int = 0,
    pins: bool = True,
) -> Iterator[Breach]:
    """Yield the breaches of decisions, given what the policy saw.

    ``placeholder`` is the number of characters that may stand in the place of shorter items; without
    ``pins`` it is left to the replay to keep what is pinned.
    """
    number = view.request.index
    found: dict[int, Change] = {}
    for one in changes:
        if not 0 <= one.item < view.count:
            yield Breach(KNOWN, number, one.item)
            continue
        item = view.item(one.item)
        found[one.item] = one
        for law, broken in (
            (STATE, one.state not in STATES),
            (STICKY, sticky and one.state == "whole"),
            (PINNED, pins and item.pinned and one.state != "whole"),
            (LONGER, _longer(one, view, placeholder)),
        ):
            if broken:
                yield Breach(law, number, one.item, item.label)
    yield from _calls(found, view)


def _longer(change: Change, view: PolicyView, placeholder: int) -> bool:
    if change.state in GONE_STATES or change.state == "whole":
        return False
    if change.tokens is not None:
        return change.tokens > view.weight(change.item)
    return change.length > max(view.item(change.item).chars, placeholder)


def _calls(changes: Mapping[int, Change], view: PolicyView) -> Iterator[Breach]:
    """Yield the calls and results that would be left without each other, and open calls that would go."""
    touched = {
        view.item(index).group
        for index, one in changes.items()
        if (one.state in GONE_STATES) != (view.state(index) in GONE_STATES)
    } - {""}
    if not touched:
        return
    members: dict[str, list[int]] = {}
    for index in range(view.count):
        group = view.item(index).group
        if group in touched:
            members.setdefault(group, []).append(index)
    for those in members.values():
        gone = [_state(index, changes, view) in GONE_STATES for index in those]
        first = next(index for index in those if index in changes)
        label = view.item(first).label
        if any(gone) and not all(gone):
            yield Breach(PAIRED, view.request.index, first, label)
        kinds = {view.item(index).kind for index in those}
        if all(gone) and "output" not in kinds and _is_newest(those[0], view):
            yield Breach(OPEN, view.request.index, first, label)


def _state(index: int, changes: Mapping[int, Change], view: PolicyView) -> ItemState:
    change = changes.get(index)
    return view.state(index) if change is None else change.state


def _is_newest(index: int, view: PolicyView) -> bool:
    """Return whether an item belongs to the newest answer; older calls without a result were given up."""
    number = view.request.index
    if not number:
        return False
    first, end = view.timeline.requests[number - 1].answer
    return first <= index < end
