"""Call hooks before a request or a summary, and turn their answers into recorded values.

Border: an upper layer calls the hooks, through ``Hooks``; here an answer becomes a decision, a changed
prompt for a summary, or a hook-written request, stored whole. So the effect of a hook can be rebuilt from the
journal without the hook.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest.context.budget.request_tokens import MESSAGE_TOKENS, check_budget
from palimpsest.context.compaction.summary_request import (
    INSTRUCTION_ABOVE,
    TEMPLATE,
    TEMPLATE_RULES,
)
from palimpsest.context.reduction.applied_decisions import CLEARED_TEXT
from palimpsest.context.reduction.truncation import truncate
from palimpsest.context.request_assembly.fit import DecisionBatch
from palimpsest.context.visible_messages import View, whole_output
from palimpsest.loop.model_requests.request_builder import JSON_MIME, ReadyRequest, facts_for
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

OPAQUE_KIND = "user"
"""Kind of the tokens of a hook's messages whose role has no kind, since their parts are unknown."""


async def hook_decisions(
    services: RequestServices, setup: StepSetup, new_id: Callable[[], str]
) -> DecisionBatch:
    """Return the hooks' decisions about later requests, under the hooks' names; nothing is journaled yet."""
    hooks, facts, view = services.hooks, facts_for(services.log, setup), services.log.view()
    event = DecideEvent(
        session_id=services.log.session_id,
        model=setup.info.ref.id,
        messages=view.messages,
        decisions=view.decisions,
        policy=setup.policy,
        window=setup.info.window,
        used_tokens=facts.used_tokens or 0,
    )
    decisions: list[Decision] = []
    for hook_answer in await hooks.decide(event):
        decision = hook_decision(
            new_id(), hook_answer, view.with_decisions(*decisions), setup, facts
        )
        if isinstance(decision, Decision):
            decisions.append(decision)
        elif decision:
            hooks.note_skipped(hook_answer.rule, decision)
    return DecisionBatch(tuple(decisions), facts)


def hook_decision(
    decision_id: str, hook_answer: HookDecision, view: View, setup: StepSetup, facts: Facts
) -> Decision | str:
    """Return a hook's answer as a decision; the reason where it is invalid, empty where it is already in effect."""
    part, message = _target(view, hook_answer)
    if message is None:
        return f"there is no part or message {hook_answer.part_id or hook_answer.message_id!r}"
    effective = EffectiveDecisions(view.decisions)
    if _is_settled(effective, hook_answer, part, message):
        return ""
    decision = Decision(
        id=decision_id,
        action=hook_answer.action,
        rule=hook_answer.rule,
        message_id=message.id,
        part_id=part.id if part is not None else None,
    )
    if hook_answer.action in ("clear", "truncate"):
        return _reduction_decision(decision, hook_answer, part, view, setup, facts)
    if part is not None:
        tokens_before = setup.count(
            whole_output(part, view.texts) or str(getattr(part, "text", ""))
        )
        tokens_after = 0 if hook_answer.action == "drop" else tokens_before
        decision = decision.model_copy(
            update={"tokens_before": tokens_before, "tokens_after": tokens_after}
        )
    return decision


def _target(view: View, hook_answer: HookDecision) -> tuple[Part | None, Message | None]:
    for message in view.messages:
        if hook_answer.part_id is None:
            if message.id == hook_answer.message_id:
                return None, message
            continue
        for part in message.parts:
            if part.id == hook_answer.part_id:
                return part, message
    return None, None


def _is_settled(
    effective: EffectiveDecisions, hook_answer: HookDecision, part: Part | None, message: Message
) -> bool:
    """Return whether a hook's decision is already in effect, or the user reversed it."""
    target_id = part.id if part is not None else message.id
    is_pinned = effective.is_pinned(target_id, message.id)
    reduction = effective.reduction(target_id, message.id)
    if hook_answer.action == "pin":
        return is_pinned
    if hook_answer.action == "restore":
        return reduction is None and not is_pinned
    if is_pinned or target_id in effective.restored_ids:
        return True
    if reduction is None or hook_answer.action == "truncate":
        return reduction is not None
    return reduction.action in (hook_answer.action, "drop")


def _reduction_decision(
    decision: Decision,
    hook_answer: HookDecision,
    part: Part | None,
    view: View,
    setup: StepSetup,
    facts: Facts,
) -> Decision | str:
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return "only what a tool call returned can be cleared or truncated"
    full_output = whole_output(part, view.texts)
    if hook_answer.action == "clear":
        text = hook_answer.text or CLEARED_TEXT
        numbers = {"text": text} if hook_answer.text else {}
        update = {
            "numbers": numbers,
            "tokens_before": setup.count(full_output),
            "tokens_after": setup.count(text),
        }
        return decision.model_copy(update=update)
    policy = setup.policy.truncate.model_copy(update=hook_answer.limits)
    truncation = truncate(
        decision.id, part.id, decision.message_id or "", full_output, policy, facts, setup.count
    )
    return (
        truncation.model_copy(update={"rule": hook_answer.rule}) if truncation is not None else ""
    )


async def with_compacting_hooks(
    services: RequestServices, setup: StepSetup, marker_part: CompactionPart
) -> StepSetup:
    """Return the setup with the hooks' text for a summary in its policy, which the request records."""
    if not services.hooks.has_hook("compacting"):
        return setup
    event = CompactingEvent(
        services.log.session_id,
        services.log.state.messages(),
        marker_part.focus or "",
        auto=marker_part.auto,
    )
    answer = await services.hooks.compacting(event)
    if answer is None or not (answer.context or answer.prompt):
        return setup
    policy = setup.policy.compact
    # Where the conversation itself is sent, the policy's prompt is the whole instruction.
    opening = () if policy.serialize else (INSTRUCTION_ABOVE,)
    default_prompt = "\n\n".join([*opening, TEMPLATE, TEMPLATE_RULES])
    instructions = answer.prompt or policy.prompt or default_prompt
    compact = policy.model_copy(update={"prompt": "\n\n".join([instructions, *answer.context])})
    return dataclasses.replace(setup, policy=setup.policy.model_copy(update={"compact": compact}))


async def with_request_hooks(
    services: RequestServices, setup: StepSetup, ready_request: ReadyRequest
) -> ReadyRequest:
    """Return the request with the messages by which hooks replaced its own, stored whole; else the request as it is."""
    plain_messages = tuple(without_marks(message) for message in ready_request.request.messages)
    answer = await services.hooks.request(setup.info.ref.id, plain_messages)
    if answer is None:
        return ready_request
    rule, new_messages = answer
    messages = redacted_value(new_messages, services.log.clean)
    record = ready_request.record
    message_tokens = [MESSAGE_TOKENS + setup.count(prompt_text((message,))) for message in messages]
    tokens = sum(message_tokens) + ready_request.projection.tools_tokens
    budget_check = check_budget(tokens, record.facts)
    if not budget_check.fits:
        services.hooks.note_skipped(rule, "its messages do not fit into the model's window")
        return ready_request
    hashes = tuple(message_hash(message) for message in messages)
    blob = services.log.blobs.put_blob(_json_bytes(messages), JSON_MIME)
    items = tuple(
        ContextItem(role=str(message["role"]), sha256=sha256, tokens=item_tokens)
        for message, sha256, item_tokens in zip(messages, hashes, message_tokens, strict=True)
    )
    update = {
        "opaque": blob,
        "opaque_by": rule,
        "same": 0,
        "items": items,
        "marks": (),
        "sha256": request_hash(hashes),
        "tokens": tokens,
        "kinds": _tokens_by_kind(messages, message_tokens, ready_request),
    }
    return dataclasses.replace(
        ready_request,
        request=dataclasses.replace(ready_request.request, messages=messages),
        record=record.model_copy(update=update),
        budget_check=budget_check,
    )


def _tokens_by_kind(
    messages: Sequence[Mapping[str, Any]],
    message_tokens: Sequence[int],
    ready_request: ReadyRequest,
) -> dict[str, int]:
    kinds_by_role = {"system": "system", "assistant": "assistant", "tool": "output"}
    tokens_by_kind = {"tools": ready_request.projection.tools_tokens}
    for message, tokens in zip(messages, message_tokens, strict=True):
        kind = kinds_by_role.get(str(message["role"]), OPAQUE_KIND)
        tokens_by_kind[kind] = tokens_by_kind.get(kind, 0) + tokens
    return {kind: tokens for kind, tokens in tokens_by_kind.items() if tokens}


def _json_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
