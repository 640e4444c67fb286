"""What no policy may touch: pinned and reverted items, waiting calls, and halves of a call and its result."""

from collections.abc import Iterable, Sequence

from palimpsest.review.policies.policy import Change, PolicyView

ABSENT = frozenset({"out", "summarised", "reverted"})
"""States of items that a request does not hold in any form."""
FIXED = frozenset({"system", "tools", "summary"})
"""Kinds that stand outside the conversation: a policy of the conversation does not reach them."""
REACH = 400
"""How many items apart a call and its result may be to be found; in recordings they are a few apart."""


def permitted(view: PolicyView, changes: Sequence[Change]) -> list[Change]:
    """Return the changes without those that no policy may make."""
    found = [one for one in changes if _may_change(view, one.item)]
    going = [one.item for one in found if one.state in ABSENT]
    if not going:
        return found
    stays = _groups_that_stay(view, going)
    return [
        one for one in found if one.state not in ABSENT or view.item(one.item).group not in stays
    ]


def permitted_to_go(view: PolicyView, items: Iterable[int]) -> list[int]:
    """Return those of the items that may leave the request together."""
    return [one.item for one in permitted(view, [Change(item, "out") for item in items])]


def _may_change(view: PolicyView, index: int) -> bool:
    item = view.item(index)
    return not item.pinned and item.kind not in FIXED and view.state(index) != "reverted"


def _groups_that_stay(view: PolicyView, going: Sequence[int]) -> frozenset[str]:
    """Return the groups of which something has to stay, so that all of it does; and those that wait."""
    leaving = set(going)
    stays: set[str] = set()
    groups: dict[str, set[str]] = {}
    for index in going:
        item = view.item(index)
        if item.group:
            groups.setdefault(item.group, set()).add(item.kind)
    halves = {group for group, kinds in groups.items() if len(kinds) == 1}
    if halves:
        near = range(max(0, min(going) - REACH), min(view.count, max(going) + REACH))
        for index in near:
            group = view.item(index).group
            if group in halves and index not in leaving and view.state(index) not in ABSENT:
                stays.add(group)
    return frozenset(stays | (halves & waiting_groups(view)))


def waiting_groups(view: PolicyView) -> set[str]:
    """Return the groups of the newest answer's calls that have no result yet."""
    answered: set[str] = set()
    message = None
    calls: set[str] = set()
    for index in range(view.count - 1, -1, -1):
        item = view.item(index)
        if item.kind == "output" and message is None:
            answered.add(item.group)
            continue
        if message is None:
            message = item.message
        if item.message != message:
            break
        if item.kind == "call":
            calls.add(item.group)
        elif item.kind == "output":
            answered.add(item.group)
    return calls - answered
