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
    DecisionAction,
    EffectiveDecisions,
    is_of_own_policy,
)
from palimpsest.transcript.errors import UserError
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
    own = dict(standing_decisions(seen.seen.decisions))

    def made(
        action: DecisionAction, part: str | None, message: str | None, **told: Any
    ) -> Decision:
        return Decision(
            id=moment.new_id(), action=action, rule=rule, message_id=message, part_id=part, **told
        )

    found: dict[str, Decision] = {}
    told: set[str] = set()
    for change in changes:
        item = seen.timeline.items[change.item]
        part = parts.get(part_of(item))
        if part is None or change.item in seen.held:
            continue
        _check(item, change)
        held = effective.reduction(part.id, item.message)
        if held is not None and held.action != "truncate" and not is_of_own_policy(held):
            continue  # another rule cleared it or took it out already
        told.add(part.id)
        whole = output_text(part, seen.seen)
        action, numbers, shown = _shown_as(change, whole)
        numbers = {**_plain(change.numbers), **numbers, "state": change.state, "sha256": sha256}
        known = own.get(part.id)
        if known is None or known.numbers != numbers or known.rule != rule:
            before = moment.count(whole or getattr(part, "text", ""))
            after = moment.count(shown) if shown else 0
            found[part.id] = made(
                action,
                part.id,
                item.message,
                numbers=numbers,
                tokens_before=before,
                tokens_after=after,
            )
    restored = [
        made(
            "restore",
            one.part_id,
            one.message_id,
            numbers={"sha256": sha256},
            tokens_before=one.tokens_after,
            tokens_after=one.tokens_before,
        )
        for name, one in own.items()
        if name not in told
    ]
    return (*restored, *found.values())


def _check(item: TimelineItem, change: Change) -> None:
    if change.state == "summarised":
        raise CannotActLive(NO_SUMMARY)
    if change.state == "out" and item.kind not in NEVER:
        return
    if item.kind not in SHORTENED_KINDS:
        raise CannotActLive(ONLY_RESULTS.format(label=item.label, kind=item.kind))


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


def _shown_as(change: Change, whole: str) -> tuple[DecisionAction, dict[str, Any], str]:
    """Return the action that shows an item so, with its numbers, and the text that is shown."""
    if change.state == "out":
        return "drop", {}, ""
    if change.shown or not change.length:
        return "clear", {"text": change.shown}, change.shown
    numbers = {"head_chars": change.length, "tail_chars": 0, "suffix": ""}
    return "truncate", numbers, whole[: change.length]


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    kinds = bool | int | float | str
    return {str(key): value for key, value in numbers.items() if isinstance(value, kinds)}
