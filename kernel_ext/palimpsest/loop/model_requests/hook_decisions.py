"""Call hooks before a request or a summary, and turn their answers into recorded values.

Border: hooks are called by an upper layer, through ``Hooks``; here an answer becomes a decision, a changed
prompt for a summary, or an opaque request, stored whole. So the effect of a hook can be rebuilt from the
journal without the hook.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest.context.budget.request_tokens import MESSAGE_TOKENS, check_budget
from palimpsest.context.compaction.summary_request import ABOVE, RULES, TEMPLATE
from palimpsest.context.reduction.applied_decisions import CLEARED
from palimpsest.context.reduction.truncation import truncate
from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.visible_messages import View, whole_output
from palimpsest.loop.model_requests.request_builder import Assembled, facts_for
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.wire.provider_messages import (
    message_hash,
    prompt_text,
    request_hash,
    without_marks,
)
from palimpsest.transcript.context_values.decisions import (
    ContextItem,
    Decision,
    EffectiveDecisions,
    Facts,
)
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import CompactionPart, Part, ToolCompleted, ToolPart
from palimpsest.transcript.redaction.secret_removal import redacted_value
from palimpsest.transcript.session_record.hook_values import (
    CompactingEvent,
    DecideEvent,
    HookDecision,
)

JSON = "application/json"
OPAQUE_KIND = "user"
"""The parts behind a hook's messages are unknown; tokens of roles without a kind count as this one."""


async def hook_decisions(
    requests: RequestServices, setup: StepSetup, new_id: Callable[[], str]
) -> DecisionBatch:
    """Let hooks decide what the coming requests show, under their names; nothing is journaled yet."""
    hooks, facts, view = requests.hooks, facts_for(requests.log, setup), requests.log.view()
    event = DecideEvent(
        session_id=requests.log.session_id,
        model=setup.info.ref.id,
        messages=view.messages,
        decisions=view.decisions,
        policy=setup.policy,
        window=setup.info.window,
        used_tokens=facts.used_tokens or 0,
    )
    made: list[Decision] = []
    for wanted in await hooks.decide(event):
        found = hook_decision(new_id(), wanted, view.decided(*made), setup, facts)
        if isinstance(found, Decision):
            made.append(found)
        elif found:
            hooks.skipped(wanted.rule, found)
    return DecisionBatch(tuple(made), facts)


def hook_decision(
    decision_id: str, wanted: HookDecision, view: View, setup: StepSetup, facts: Facts
) -> Decision | str:
    """Return a hook's answer as a decision; a reason where it is invalid, empty where it already holds."""
    part, message = _target(view, wanted)
    if message is None:
        return f"there is no part or message {wanted.part_id or wanted.message_id!r}"
    effective = EffectiveDecisions(view.decisions)
    if _stands(effective, wanted, part, message):
        return ""
    made = Decision(
        id=decision_id,
        action=wanted.action,
        rule=wanted.rule,
        message_id=message.id,
        part_id=part.id if part is not None else None,
    )
    if wanted.action in ("clear", "truncate"):
        return _reduced(made, wanted, part, view, setup, facts)
    if part is not None:
        weight = setup.count(_text(part, view))
        after = 0 if wanted.action == "drop" else weight
        made = made.model_copy(update={"tokens_before": weight, "tokens_after": after})
    return made


def _target(view: View, wanted: HookDecision) -> tuple[Part | None, Message | None]:
    for message in view.messages:
        if wanted.part_id is None:
            if message.id == wanted.message_id:
                return None, message
            continue
        for part in message.parts:
            if part.id == wanted.part_id:
                return part, message
    return None, None


def _stands(
    effective: EffectiveDecisions, wanted: HookDecision, part: Part | None, message: Message
) -> bool:
    """Return whether it already holds, or the user reversed it: a hook is called before each request."""
    name = part.id if part is not None else message.id
    if wanted.action == "pin":
        return effective.pinned(name, message.id)
    if wanted.action == "restore":
        return effective.reduction(name, message.id) is None and not effective.pinned(
            name, message.id
        )
    if name in effective.restored or effective.pinned(name, message.id):
        return True
    standing = effective.reduction(name, message.id)
    if wanted.action == "truncate":
        return standing is not None
    return standing is not None and standing.action in (wanted.action, "drop")


def _reduced(
    made: Decision,
    wanted: HookDecision,
    part: Part | None,
    view: View,
    setup: StepSetup,
    facts: Facts,
) -> Decision | str:
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return "only what a tool call returned can be cleared or truncated"
    whole = whole_output(part, view.texts)
    if wanted.action == "clear":
        text = wanted.text or CLEARED
        numbers = {"text": text} if wanted.text else {}
        update = {
            "numbers": numbers,
            "tokens_before": setup.count(whole),
            "tokens_after": setup.count(text),
        }
        return made.model_copy(update=update)
    policy = setup.policy.truncate.model_copy(update=wanted.limits)
    cut = truncate(made.id, part.id, made.message_id or "", whole, policy, facts, setup.count)
    return cut.model_copy(update={"rule": wanted.rule}) if cut is not None else ""


def _text(part: Part, view: View) -> str:
    return whole_output(part, view.texts) or str(getattr(part, "text", ""))


async def with_compacting_hooks(
    requests: RequestServices, setup: StepSetup, part: CompactionPart
) -> StepSetup:
    """Let hooks change what a summary keeps: their text goes into the policy that the request records."""
    if not requests.hooks.any("compacting"):
        return setup
    event = CompactingEvent(
        requests.log.session_id, requests.log.state.messages(), part.focus or "", auto=part.auto
    )
    answer = await requests.hooks.compacting(event)
    if answer is None or not (answer.context or answer.prompt):
        return setup
    policy = setup.policy.compact
    # Where the conversation itself is sent, the policy's prompt is the whole instruction.
    ours = [TEMPLATE, RULES] if policy.serialize else [ABOVE, TEMPLATE, RULES]
    asked = answer.prompt or policy.prompt or "\n\n".join(ours)
    prompt = "\n\n".join([asked, *answer.context])
    compact = setup.policy.compact.model_copy(update={"prompt": prompt})
    return dataclasses.replace(setup, policy=setup.policy.model_copy(update={"compact": compact}))


async def with_request_hooks(
    requests: RequestServices, setup: StepSetup, assembled: Assembled
) -> Assembled:
    """Let hooks replace a request's messages; the result is stored whole, as an opaque request."""
    plain = tuple(without_marks(one) for one in assembled.request.messages)
    answer = await requests.hooks.request(setup.info.ref.id, plain)
    if answer is None:
        return assembled
    rule, given = answer
    messages = redacted_value(given, requests.log.clean)
    record = assembled.record
    weights = [MESSAGE_TOKENS + setup.count(prompt_text((one,))) for one in messages]
    tokens = sum(weights) + assembled.projection.tools_tokens
    decided = check_budget(tokens, record.facts)
    if not decided.fits:
        requests.hooks.skipped(rule, "its messages do not fit into the model's window")
        return assembled
    hashes = tuple(message_hash(one) for one in messages)
    blob = requests.log.blobs.put_blob(_json(messages), JSON)
    items = tuple(
        ContextItem(role=str(one["role"]), sha256=sha256, tokens=weight)
        for one, sha256, weight in zip(messages, hashes, weights, strict=True)
    )
    update = {
        "opaque": blob,
        "opaque_by": rule,
        "same": 0,
        "items": items,
        "marks": (),
        "sha256": request_hash(hashes),
        "tokens": tokens,
        "kinds": _kinds(messages, weights, assembled),
    }
    return dataclasses.replace(
        assembled,
        request=dataclasses.replace(assembled.request, messages=messages),
        record=record.model_copy(update=update),
        route=decided,
    )


def _kinds(
    messages: Sequence[Mapping[str, Any]],
    weights: Sequence[int],
    assembled: Assembled,
) -> dict[str, int]:
    names = {"system": "system", "assistant": "assistant", "tool": "output"}
    kinds = {"tools": assembled.projection.tools_tokens}
    for one, weight in zip(messages, weights, strict=True):
        kind = names.get(str(one["role"]), OPAQUE_KIND)
        kinds[kind] = kinds.get(kind, 0) + weight
    return {kind: tokens for kind, tokens in kinds.items() if tokens}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
