"""The laws of every context policy, and a checker that names the item, the request and the broken law.

A policy decides the same twice, uses only what was sent so far, keeps calls with their results, leaves pinned items
and open calls alone, makes nothing longer, and has a state of JSON values only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from palimpsest.context_policies.interface.policy import Change, PolicyView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import GONE_STATES, ItemState

SAME_TWICE = "with the same view it decides the same"
EXISTING_ITEM = (
    "it decides on items that the request could show, which are numbered from 0 to below view.count"
)
ALLOWED_STATE = "it shows an item as truncated, cleared, masked, summarised, offloaded or out"
CALL_WITH_RESULT = "a call goes only together with its result, and a result with its call"
PIN_KEPT = "what a person pinned stays as it is"
OPEN_CALL = "a call that waits for its result stays"
NOT_LONGER = "what stands in the place of an item is not longer than the item"
DECISION_KEPT = "what a sticky policy decided, it does not take back by itself"
ONLY_PAST = "it looks only at what came before the request"
JSON_STATE = "what it remembers can be written as JSON"
POLICY_STATES = frozenset(get_args(ItemState)) - {"reverted"}
MAX_PLACEHOLDER_CHARS = 80
"""Characters of the presets' longest placeholder, which may be longer than a very short result."""


class PolicyBreach(UserError):
    """A policy broke a law."""


class FutureItem(IndexError):
    """A policy looked at an item that had not come yet."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A law that a decision broke, with the indexes of the request and the item."""

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
    placeholder_chars: int = 0,
    pins_checked: bool = True,
) -> Iterator[Breach]:
    """Yield the laws that a policy's decisions break.

    ``placeholder_chars`` is the length of a text that may replace shorter items. ``pins_checked`` is False where the
    caller itself keeps pinned items, whatever the policy decides.
    """
    request_index = view.request.index
    change_by_item: dict[int, Change] = {}
    for change in changes:
        if not 0 <= change.item < view.count:
            yield Breach(EXISTING_ITEM, request_index, change.item)
            continue
        item = view.item(change.item)
        change_by_item[change.item] = change
        for law, is_broken in (
            (ALLOWED_STATE, change.state not in POLICY_STATES),
            (DECISION_KEPT, sticky and change.state == "whole"),
            (PIN_KEPT, pins_checked and item.pinned and change.state != "whole"),
            (NOT_LONGER, _is_longer(change, view, placeholder_chars)),
        ):
            if is_broken:
                yield Breach(law, request_index, change.item, item.label)
    yield from _call_breaches(change_by_item, view)


def _is_longer(change: Change, view: PolicyView, placeholder_chars: int) -> bool:
    if change.state in GONE_STATES or change.state == "whole":
        return False
    if change.tokens is not None:
        return change.tokens > view.weight(change.item)
    return change.length > max(view.item(change.item).chars, placeholder_chars)


def _call_breaches(changes: Mapping[int, Change], view: PolicyView) -> Iterator[Breach]:
    """Yield the calls and results that would be left without each other, and open calls that would be removed."""
    changed_groups = {
        view.item(index).group
        for index, change in changes.items()
        if (change.state in GONE_STATES) != (view.state(index) in GONE_STATES)
    } - {""}
    if not changed_groups:
        return
    items_by_group: dict[str, list[int]] = {}
    for index in range(view.count):
        group = view.item(index).group
        if group in changed_groups:
            items_by_group.setdefault(group, []).append(index)
    for group_items in items_by_group.values():
        states = (changes[i].state if i in changes else view.state(i) for i in group_items)
        gone_flags = [state in GONE_STATES for state in states]
        first_changed = next(index for index in group_items if index in changes)
        label = view.item(first_changed).label
        if any(gone_flags) and not all(gone_flags):
            yield Breach(CALL_WITH_RESULT, view.request.index, first_changed, label)
        kinds = {view.item(index).kind for index in group_items}
        if all(gone_flags) and "output" not in kinds and _is_in_newest_answer(group_items[0], view):
            yield Breach(OPEN_CALL, view.request.index, first_changed, label)


def _is_in_newest_answer(index: int, view: PolicyView) -> bool:
    """Return whether an item belongs to the newest answer; only its calls still wait for results."""
    request_index = view.request.index
    if not request_index:
        return False
    first_item, end = view.timeline.requests[request_index - 1].answer
    return first_item <= index < end
