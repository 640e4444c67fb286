"""The engine's compactions over a timeline: where they cut, and which summary is shown.

A recorded summary is shown where the same messages would have been summarised at the same place; else a placeholder of
stated size is shown, since no summary was written.
"""

from itertools import chain
from typing import Literal

from palimpsest.context.budget.request_tokens import MESSAGE_TOKENS, usable_tokens
from palimpsest.context.compaction.continuation import CONTINUE, CONTINUE_WITH
from palimpsest.context.compaction.plan import tail_budget, tail_start_of_spans, tail_tokens
from palimpsest.context.request_assembly.turn_limit import turns_kept
from palimpsest.context_policies.engine_presets.engine_state import EngineState, ShownMessage
from palimpsest.context_policies.engine_presets.engine_step import EngineStep
from palimpsest.context_policies.interface.policy import Change, PolicyView
from palimpsest.context_policies.items.engine_sizes import call_input
from palimpsest.context_policies.items.reducible import FIXED_KINDS, result_of_call
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import CompactPolicy
from palimpsest.transcript.parts import SUMMARY_PROMPT
from palimpsest.transcript.timeline import ASKED_FOR, CHARS4, STOPPED, TimelineEvent

MAX_PLACEHOLDER_SHARE = 0.5
"""Maximum size of a placeholder as a share of what it covers: a summary is shorter than the messages."""
JOINING_RULES = frozenset({"palimpsest", "openclaw-2026.9"})
"""Rules of repair that join an answer with the summary before it into one message."""


def compact_by_hand(step: EngineStep) -> None:
    """Summarise where the user requested it, which applies under every policy."""
    manual_summary_ids = {
        str(event.numbers.get("summary"))
        for event in step.view.timeline.events
        if event.request == step.request.index
        and event.kind == "compact"
        and event.cause == "by hand"
    }
    summary_item = _recorded_summary(step)
    if summary_item is not None and step.view.item(summary_item).message in manual_summary_ids:
        compact(step, by_hand=True)


def compact(step: EngineStep, *, overflow: bool = False, by_hand: bool = False) -> bool:
    """Replace the covered items by a summary; returns False where it failed or would save too little."""
    first_kept, repeated_prompt = _cut_and_repeat(step, overflow=overflow)
    covered_items = _covered_items(step, first_kept)
    if not covered_items:
        return False
    summary_item = _recorded_summary(step)
    if (
        summary_item is not None
        and not repeated_prompt
        and _is_reusable(step, summary_item, first_kept)
    ):
        _show_recorded_summary(step, summary_item, covered_items, first_kept)
        return True
    if not repeated_prompt and _has_failed(step, first_kept):
        request = step.request
        step.state = step.state._replace(
            summary_requested_at=request.started, failed_at=request.index
        )
        return False
    continuation = "" if by_hand else _continuation_text(step, covered_items, overflow=overflow)
    tokens = _placeholder_tokens(step, covered_items, first_kept)
    if repeated_prompt is not None:
        tokens += sum(map(step.framed_tokens, repeated_prompt.items))
    elif continuation:
        tokens += MESSAGE_TOKENS + step.sizes.count_tokens(continuation)
    section_items = (index for index in step.sizes.section_items if index < step.view.count)
    section_tokens = sum(map(step.framed_tokens, section_items))
    tokens_before = step.total - section_tokens - step.sizes.remainder_tokens[step.request.index]
    tokens_freed = sum(map(step.framed_tokens, covered_items)) + step.summary_tokens
    tokens_after = tokens_before - tokens_freed + tokens
    policy = step.policy.compact
    if policy.judge and tokens_after > policy.max_share_after * tokens_before:
        return False
    _show_placeholder(step, covered_items, tokens, first_kept)
    continuation_place = step.view.count if continuation or repeated_prompt is not None else -1
    step.state = step.state._replace(continuation_place=continuation_place)
    return True


def apply_history_limit(step: EngineStep) -> None:
    """Leave out the items before the newest turns that the policy's history limit sends."""
    max_turns = step.policy.history_limit
    if not max_turns or max_turns <= 0:
        return
    turn_starts = [message.first_item for message in step.messages() if message.is_from_user]
    dropped_turns = sum(
        step.state.covered_until <= message_start < step.state.first_in_limit
        for message_start in step.sizes.user_message_starts
    )
    kept_turn_count = turns_kept(len(turn_starts) + dropped_turns, max_turns, step.policy.limit)
    if kept_turn_count >= len(turn_starts) or not turn_starts:
        return
    first_kept = turn_starts[-kept_turn_count] if kept_turn_count else step.view.count
    for index in _covered_items(step, first_kept):
        step.add_change(Change(index, "out"))
    step.state = step.state._replace(first_in_limit=first_kept)


# Where a compaction cuts


def _cut_and_repeat(step: EngineStep, *, overflow: bool) -> tuple[int, ShownMessage | None]:
    """Return the first item that stays word for word, and the prompt that is repeated after the summary."""
    policy = step.policy.compact
    history = step.messages()
    prompts = [message for message in history if message.is_from_user]
    repeated_prompt = prompts[-1] if policy.replay and overflow and len(prompts) > 1 else None
    if repeated_prompt is not None:
        end = repeated_prompt.first_item
        history = [message for message in history if message.first_item < end]
    covered_until = step.state.covered_until
    if covered_until and not policy.merge_summary:
        # The earlier summary is summarised again: its marker and its text come before all other messages.
        empty_message = ShownMessage(covered_until, covered_until, is_from_user=False)
        history = [empty_message, empty_message, *history]
    turn_starts = [index for index, message in enumerate(history) if message.is_from_user]
    spans = list(zip(turn_starts, [*turn_starts, len(history)][1:], strict=True))
    budget = tail_budget(policy, usable_tokens(step.model, step.policy.overflow))
    start_message = tail_start_of_spans(
        spans, policy, budget, lambda begin, end: _tokens_in_tail(step, history[begin:end])
    )
    return (
        step.view.count if start_message is None else history[start_message].first_item
    ), repeated_prompt


def _tokens_in_tail(step: EngineStep, messages: list[ShownMessage]) -> int:
    """Return the tokens of messages, counted as for a tail."""
    if step.policy.estimator != CHARS4:
        return sum(step.framed_tokens(item) for message in messages for item in message.items)
    neutral_messages = chain.from_iterable(_neutral_messages(step, message) for message in messages)
    return tail_tokens(tuple(neutral_messages), step.policy, step.sizes.count_tokens)


def _neutral_messages(step: EngineStep, message: ShownMessage) -> list[NeutralMessage]:
    """Return a shown message as the engine's neutral messages, without the provider's own data."""
    blocks: list[Block] = []
    results: list[Block] = []
    for index in message.items:
        item = step.view.item(index)
        if item.kind in FIXED_KINDS or not step.shown_view.shows(index):
            continue
        match item.kind:
            case "call":
                tool_input = call_input(step.view.timeline, index)
                blocks.append(CallBlock(call_id=item.group, tool=item.tool, input=tool_input))
            case "output":
                text, is_error = step.shown_text(index), item.is_error
                results.append(
                    ResultBlock(call_id=item.group, tool=item.tool, text=text, is_error=is_error)
                )
            case "reasoning":
                blocks.append(ReasoningBlock(text=step.shown_text(index)))
            case "media" if not item.group:
                blocks.append(MediaBlock(mime="", url="", filename=item.label))
            case "media":
                pass
            case _:
                blocks.append(TextBlock(text=step.shown_text(index)))
    role: Literal["user", "assistant"] = "user" if message.is_from_user else "assistant"
    messages = [NeutralMessage(role=role, blocks=tuple(blocks))] if blocks else []
    if results:
        messages.append(NeutralMessage(role="tool", blocks=tuple(results)))
    return messages


def _covered_items(step: EngineStep, first_kept: int) -> list[int]:
    """Return the items before a cut that a summary replaces; a call that waits for its result stays."""
    open_calls = _open_calls(step)
    return [
        index
        for index in range(max(step.state.covered_until, step.state.first_in_limit), first_kept)
        if step.view.item(index).kind not in FIXED_KINDS
        and not step.view.item(index).pinned
        and index not in open_calls
        and step.shown_view.shows(index)
    ]


def _open_calls(step: EngineStep) -> set[int]:
    """Return the calls of the newest answer that have no result yet."""
    answer = range(*step.previous_request.answer) if step.previous_request else range(0)
    calls = (index for index in answer if step.view.item(index).kind == "call")
    return {call for call in calls if result_of_call(step.view, call) is None}


# The summary or its placeholder


def _recorded_summary(step: EngineStep) -> int | None:
    """Return the item of the summary that was recorded before this request, and is not shown yet."""
    summaries = [
        index
        for index in range(step.state.item_count, step.view.count)
        if step.view.item(index).kind == "summary"
        and step.view.item(index).entered == step.request.index
        and index not in step.state.shown_summary
        and step.view.item(index).covers
    ]
    return summaries[-1] if summaries else None


def _is_reusable(step: EngineStep, summary_item: int, first_kept: int) -> bool:
    """Return whether a recorded summary covers the same messages as a cut, and was requested in the same way."""
    item = step.view.item(summary_item)
    events = (
        event
        for event in step.view.timeline.events
        if event.kind == "compact" and event.numbers.get("summary") == item.message
    )
    has_same_cut = covers_same_messages(step, max(item.covers) + 1, first_kept)
    return has_same_cut and all(_is_same_prompt(step, event) for event in events)


def _is_same_prompt(step: EngineStep, event: TimelineEvent) -> bool:
    """Return whether the policy requests summaries with the recorded settings, where the recording is ours."""
    if step.view.timeline.origin != "palimpsest":
        return True
    defaults, compact_policy = CompactPolicy(), step.policy.compact
    return all(
        getattr(compact_policy, name) == event.numbers.get(name, getattr(defaults, name))
        for name in ASKED_FOR
    )


def _has_failed(step: EngineStep, first_kept: int) -> bool:
    """Return whether the recording requested a summary of the same messages at this place, and it failed.

    A request that was stopped does not count: it may have succeeded.
    """
    return any(
        event.kind == "compact failed"
        and event.request == step.request.index
        and event.numbers.get("error") != STOPPED
        and _is_same_prompt(step, event)
        and covers_same_messages(step, int(event.numbers.get("last", -1)) + 1, first_kept)
        for event in step.view.timeline.events
    )


def covers_same_messages(step: EngineStep, recorded_first_kept: int, first_kept: int) -> bool:
    """Return whether summaries that end before ``recorded_first_kept`` and ``first_kept`` cover the same messages."""
    between = range(min(recorded_first_kept, first_kept), max(recorded_first_kept, first_kept))
    return all(
        step.view.item(index).kind in FIXED_KINDS or step.view.item(index).continues
        for index in between
    )


def _show_recorded_summary(
    step: EngineStep, summary_item: int, covered_items: list[int], first_kept: int
) -> None:
    """Show a recorded summary, and the text that the engine wrote to continue after it."""
    _hide_shown_summary(step)
    for index in covered_items:
        step.add_change(Change(index, "summarised", tokens=0))
    step.add_change(Change(summary_item, "whole", numbers={"rule": "compact"}))
    shown_summary = [summary_item]
    for index in range(summary_item + 1, step.view.count):
        if not step.view.item(index).continues:
            break
        step.add_change(Change(index, "whole"))
        shown_summary.append(index)
    _record_new_summary(step, first_kept, summary_place=-1, shown_summary=tuple(shown_summary))


def _show_placeholder(
    step: EngineStep, covered_items: list[int], tokens: int, first_kept: int
) -> None:
    """Replace the covered items by a placeholder of ``tokens`` tokens."""
    place = step.state.summary_place if step.state.summary_place >= 0 else covered_items[0]
    _hide_shown_summary(step)
    for index in covered_items:
        if index != place:
            step.add_change(Change(index, "summarised", tokens=0))
    numbers = {"rule": "compact", "covers": len(covered_items)}
    step.add_change(Change(place, "summarised", tokens=tokens, numbers=numbers))
    _record_new_summary(step, first_kept, summary_place=place, shown_summary=())


def _hide_shown_summary(step: EngineStep) -> None:
    """Remove the summary that was shown until now."""
    placeholder_items = (step.state.summary_place,) if step.state.summary_place >= 0 else ()
    for index in (*placeholder_items, *step.state.shown_summary):
        step.add_change(Change(index, "summarised", tokens=0))


def _record_new_summary(
    step: EngineStep, first_kept: int, *, summary_place: int, shown_summary: tuple[int, ...]
) -> None:
    """Record a new summary in the state; requesting it used the provider's cache."""
    step.reduction_numbers = {
        item: numbers for item, numbers in step.reduction_numbers.items() if int(item) >= first_kept
    }
    step.state = step.state._replace(
        covered_until=first_kept,
        summary_place=summary_place,
        shown_summary=shown_summary,
        continuation_place=-1,
        summary_requested_at=step.request.started,
        summarised_at=step.request.index,
    )


def _placeholder_tokens(step: EngineStep, covered_items: list[int], first_kept: int) -> int:
    """Return the tokens of a placeholder and of the marker before it, the question that a summary answers."""
    covered_tokens = sum(map(step.framed_tokens, covered_items))
    if step.state.covered_until and not step.policy.compact.merge_summary:
        # The earlier summary is summarised again.
        covered_tokens += step.summary_tokens
    tokens = min(step.placeholder_tokens, int(covered_tokens * MAX_PLACEHOLDER_SHARE))
    first_tail_message = next(
        (message for message in step.messages() if message.first_item >= first_kept), None
    )
    is_joined = (
        first_tail_message is not None
        and not first_tail_message.is_from_user
        and step.policy.hygiene.rule in JOINING_RULES
    )
    return (
        tokens + (1 if is_joined else 2) * MESSAGE_TOKENS + step.sizes.count_tokens(SUMMARY_PROMPT)
    )


def _continuation_text(step: EngineStep, covered_items: list[int], *, overflow: bool) -> str:
    """Return the engine's text that continues the turn after a summary; empty where there is none."""
    policy = step.policy.compact
    if step.at_turn_end and not policy.always_continue:
        return ""
    if policy.continue_text:
        return (policy.refused_text if overflow else "") + policy.continue_text
    prompt_items = [index for index in covered_items if step.view.item(index).kind == "user"]
    is_prompt_covered = bool(prompt_items) and not any(
        prompt_items[-1] < message_start < step.view.count
        for message_start in step.sizes.user_message_starts
    )
    if not is_prompt_covered:
        return CONTINUE
    return CONTINUE_WITH.format(request=step.view.read(prompt_items[-1]))


def without_undone_compactions(state: EngineState, view: PolicyView) -> EngineState:
    """Return the state without a summary that the user undid, so that what it covered is shown again."""
    if not state.covered_until:
        return state
    if state.summary_place >= 0:
        was_undone = view.state(state.summary_place) != "summarised"
    else:
        was_undone = bool(state.shown_summary) and view.state(state.shown_summary[0]) == "out"
    if was_undone:
        return state._replace(
            covered_until=0, summary_place=-1, shown_summary=(), continuation_place=-1
        )
    return state
