"""Make journaled decisions of what a person's own policy decided about items.

Results of calls and notes about the user's cells can be shortened; a call, a text or a picture is shown whole
or left out, and a call goes with its result.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from palimpsest.loop.run_inputs.policy_stage import PolicyMoment
from palimpsest.review.live_policies.live_items import output_text
from palimpsest.review.live_policies.live_view import LiveView
from palimpsest.review.policies.policy import Change
from palimpsest.review.timeline.message_items import part_of
from palimpsest.transcript.context_values.decisions import (
    RESTORE,
    Decision,
    EffectiveDecisions,
    is_of_own_policy,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Part
from palimpsest.transcript.timeline import TimelineItem

SHORTENED_KINDS = frozenset({"output", "notebook"})
NEVER = frozenset({"system", "tools", "summary"})
ONLY_RESULTS = (
    "It shortens {label!r:.60} ({kind}): in a live session only results of calls and notes about cells can be "
    "shortened, and other items left out with policies.drop(i)."
)
NO_SUMMARY = "It replaces items by a summary, which only a model can write: use %agent compact, or leave items out."


class CannotActLive(UserError):
    """A decision that no live session can carry out."""


def decisions_of(
    changes: Iterable[Change], seen: LiveView, moment: PolicyMoment, rule: str, sha256: str
) -> tuple[Decision, ...]:
    """Return the decisions that bring about what a policy wants; raises CannotActLive.

    ``changes`` is all that the policy wants otherwise now: what of it holds already gives no decision, and what
    is shown otherwise and not among it is restored.
    """
    effective = EffectiveDecisions(seen.seen.decisions)
    parts = {part.id: part for message in seen.seen.messages for part in message.parts}
    writer = _DecisionWriter(moment, seen.seen.decisions, effective, rule, sha256)
    found: dict[str, Decision] = {}
    told: set[str] = set()
    for change in changes:
        item = seen.timeline.items[change.item]
        part = parts.get(part_of(item))
        if part is None or change.item in seen.held:
            continue
        _check(item, change)
        if writer.is_gone(item, part):
            continue
        told.add(part.id)
        made = writer.decision(change, item, part, output_text(part, seen.seen))
        if made is not None:
            found[part.id] = made
    restored = (writer.restored(one) for name, one in writer.own.items() if name not in told)
    return (*restored, *found.values())


def _check(item: TimelineItem, change: Change) -> None:
    if change.state == "summarised":
        raise CannotActLive(NO_SUMMARY)
    if change.state == "out" and item.kind not in NEVER:
        return
    if item.kind not in SHORTENED_KINDS:
        raise CannotActLive(ONLY_RESULTS.format(label=item.label, kind=item.kind))


class _DecisionWriter:
    def __init__(
        self,
        moment: PolicyMoment,
        decisions: tuple[Decision, ...],
        effective: EffectiveDecisions,
        rule: str,
        sha256: str,
    ) -> None:
        self._moment = moment
        self._effective = effective
        self._rule = rule
        self._sha256 = sha256
        self.own = dict(standing_decisions(decisions))
        """What a person's own policy shows otherwise, by part."""

    def is_gone(self, item: TimelineItem, part: Part) -> bool:
        """Return whether another rule cleared a part or took it out already."""
        held = self._effective.reduction(part.id, item.message)
        return held is not None and held.action != "truncate" and not is_of_own_policy(held)

    def decision(
        self, change: Change, item: TimelineItem, part: Part, whole: str
    ) -> Decision | None:
        """Return the decision that a change needs; None where what it wants holds already."""
        known = self.own.get(part.id)
        if change.state == "out":
            numbers: dict[str, Any] = {}
            shown = ""
        elif change.shown or not change.length:
            numbers = {"text": change.shown}
            shown = change.shown
        else:
            numbers = {"head_chars": change.length, "tail_chars": 0, "suffix": ""}
            shown = whole[: change.length]
        numbers = {**_plain(change.numbers), **numbers, "state": change.state}
        numbers["sha256"] = self._sha256
        if known is not None and known.numbers == numbers and known.rule == self._rule:
            return None
        count = self._moment.count
        return Decision(
            id=self._moment.new_id(),
            action=_action(change),
            rule=self._rule,
            message_id=item.message,
            part_id=part.id,
            numbers=numbers,
            tokens_before=count(whole or getattr(part, "text", "")),
            tokens_after=count(shown) if shown else 0,
        )

    def restored(self, known: Decision) -> Decision:
        """Return the decision that shows a part as it is without the policy."""
        return Decision(
            id=self._moment.new_id(),
            action="restore",
            rule=self._rule,
            message_id=known.message_id,
            part_id=known.part_id,
            numbers={"sha256": self._sha256},
            tokens_before=known.tokens_after,
            tokens_after=known.tokens_before,
        )


def standing_decisions(decisions: Iterable[Decision]) -> Iterator[tuple[str, Decision]]:
    """Yield the parts that a person's own policy shows otherwise, each with the newest decision of one."""
    found: dict[str, Decision] = {}
    for one in decisions:
        if one.part_id is None:
            continue
        if is_of_own_policy(one):
            if one.action == "restore":
                found.pop(one.part_id, None)
            else:
                found[one.part_id] = one
        elif one.action == "restore" and one.rule == RESTORE:
            # A person showed the part again.
            found.pop(one.part_id, None)
    yield from found.items()


def _action(change: Change) -> Any:
    if change.state == "out":
        return "drop"
    return "clear" if change.shown or not change.length else "truncate"


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    kinds = bool | int | float | str
    return {str(key): value for key, value in numbers.items() if isinstance(value, kinds)}
