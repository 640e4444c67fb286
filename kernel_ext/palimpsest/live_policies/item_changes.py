"""Turn the item changes of the user's own policy into decisions for the journal.

Results of calls and notes about the user's cells can be shortened; a call, a text or a picture is shown whole
or left out, and a call goes with its result.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from palimpsest.context_policies.interface.policy import Change
from palimpsest.context_policies.items.reducible import FIXED_KINDS
from palimpsest.live_policies.live_items import output_text
from palimpsest.live_policies.live_view import LiveView
from palimpsest.loop.run_inputs.policy_stage import PolicyMoment
from palimpsest.recordings.timeline.message_items import part_id_of
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
ONLY_RESULTS_SENTENCE = (
    "It shortens {label!r:.60} ({kind}): in a live session only results of calls and notes about cells can be "
    "shortened, and other items left out with policies.drop(i)."
)
NO_SUMMARY_SENTENCE = "It replaces items by a summary, which only a model can write: use %agent compact, or leave items out."


class CannotActLive(UserError):
    """Raised for a decision that a live session cannot carry out."""


def decisions_of(
    changes: Iterable[Change],
    live_view: LiveView,
    moment: PolicyMoment,
    rule: str,
    policy_sha256: str,
) -> tuple[Decision, ...]:
    """Return the decisions that carry out a policy's changes; raises CannotActLive.

    ``changes`` are all changes of the policy at this request. Changes that are in effect already need no decision; items
    that the policy reduced earlier and that are not among the changes are restored.
    """
    effective = EffectiveDecisions(live_view.session_view.decisions)
    part_by_id = {
        part.id: part for message in live_view.session_view.messages for part in message.parts
    }
    own_decision_by_part = dict(own_policy_decisions(live_view.session_view.decisions))

    def new_decision(action: DecisionAction, **fields: Any) -> Decision:
        return Decision(id=moment.new_id(), action=action, rule=rule, **fields)

    new_decision_by_part: dict[str, Decision] = {}
    changed_part_ids: set[str] = set()
    for change in changes:
        item = live_view.timeline.items[change.item]
        part = part_by_id.get(part_id_of(item))
        if part is None or change.item in live_view.fixed_indexes:
            continue
        _refuse_impossible_change(item, change)
        earlier_reduction = effective.reduction(part.id, item.message)
        if (
            earlier_reduction is not None
            and earlier_reduction.action != "truncate"
            and not is_of_own_policy(earlier_reduction)
        ):
            continue  # another rule cleared or removed it already
        changed_part_ids.add(part.id)
        whole_text = output_text(part, live_view.session_view)
        action, numbers, shown_text = _action_of(change, whole_text)
        numbers = _recordable_numbers(change.numbers) | numbers
        numbers |= {"state": change.state, "sha256": policy_sha256}
        newest_own_decision = own_decision_by_part.get(part.id)
        if (
            newest_own_decision is None
            or newest_own_decision.numbers != numbers
            or newest_own_decision.rule != rule
        ):
            tokens_before = moment.count(whole_text or getattr(part, "text", ""))
            tokens_after = moment.count(shown_text) if shown_text else 0
            new_decision_by_part[part.id] = new_decision(
                action,
                message_id=item.message,
                part_id=part.id,
                numbers=numbers,
                tokens_before=tokens_before,
                tokens_after=tokens_after,
            )
    restoring_decisions = [
        new_decision(
            "restore",
            message_id=decision.message_id,
            part_id=decision.part_id,
            numbers={"sha256": policy_sha256},
            tokens_before=decision.tokens_after,
            tokens_after=decision.tokens_before,
        )
        for part_id, decision in own_decision_by_part.items()
        if part_id not in changed_part_ids
    ]
    return (*restoring_decisions, *new_decision_by_part.values())


def _refuse_impossible_change(item: TimelineItem, change: Change) -> None:
    if change.state == "summarised":
        raise CannotActLive(NO_SUMMARY_SENTENCE)
    if change.state == "out" and item.kind not in FIXED_KINDS:
        return
    if item.kind not in SHORTENED_KINDS:
        raise CannotActLive(ONLY_RESULTS_SENTENCE.format(label=item.label, kind=item.kind))


def own_policy_decisions(decisions: Iterable[Decision]) -> Iterator[tuple[str, Decision]]:
    """Yield the ids of the parts that the user's own policy reduces, each with its newest decision."""
    newest_by_part: dict[str, Decision] = {}
    for decision in decisions:
        is_own = is_of_own_policy(decision)
        if decision.part_id is None:
            continue
        if decision.action == "restore" and (is_own or decision.rule == RESTORE):
            # The policy restored the part, or the user did.
            newest_by_part.pop(decision.part_id, None)
        elif is_own:
            newest_by_part[decision.part_id] = decision
    yield from newest_by_part.items()


def _action_of(change: Change, whole_text: str) -> tuple[DecisionAction, dict[str, Any], str]:
    """Return the action that carries out a change, its numbers, and the shown text."""
    if change.state == "out":
        return "drop", {}, ""
    if change.replacement or not change.length:
        return "clear", {"text": change.replacement}, change.replacement
    numbers = {"head_chars": change.length, "tail_chars": 0, "suffix": ""}
    return "truncate", numbers, whole_text[: change.length]


def _recordable_numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    number_types = bool | int | float | str
    return {str(key): value for key, value in numbers.items() if isinstance(value, number_types)}
