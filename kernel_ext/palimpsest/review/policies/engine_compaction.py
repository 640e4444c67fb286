"""The engine's compactions over a timeline: where one cuts, and what stands for its summary.

A recorded summary is shown where the same messages would have been summarised at the same place; else a
placeholder of stated size stands there, since none was written.
"""

from typing import Literal

from palimpsest.context.budget.request_tokens import MESSAGE_TOKENS, usable
from palimpsest.context.compaction.continuation import CONTINUE, CONTINUE_WITH
from palimpsest.context.compaction.plan import tail_budget, tail_place, tail_tokens
from palimpsest.context.request_assembly.turn_limit import turns_kept
from palimpsest.review.policies.engine_sizes import call_input
from palimpsest.review.policies.engine_state import EngineState, ShownMessage
from palimpsest.review.policies.engine_step import EngineStep
from palimpsest.review.policies.policy import Change, PolicyView
from palimpsest.review.policies.reducible import BESIDE, result_of_call
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
from palimpsest.transcript.parts import COMPACTED
from palimpsest.transcript.timeline import ASKED_FOR, CHARS4, STOPPED, TimelineEvent

LEAST_SHARE = 0.5
"""A placeholder is at most this share of what it covers: a summary is shorter than the messages."""
JOINING = frozenset({"palimpsest", "openclaw-2026.9"})
"""Rules of repair that join an answer with the summary before it into one message."""


def compact_by_hand(step: EngineStep) -> None:
    """Summarise where a person asked for it; that holds under every policy."""
    wanted = {
        str(one.numbers.get("summary"))
        for one in step.view.timeline.events
        if one.request == step.request.index and one.kind == "compact" and one.cause == "by hand"
    }
    summary = _recorded_summary(step)
    if summary is not None and step.view.item(summary).message in wanted:
        compact(step, by_hand=True)


def compact(step: EngineStep, *, overflow: bool = False, by_hand: bool = False) -> bool:
    """Replace what a compaction covers by a summary; returns False where it failed or would save too little."""
    cut, again = _cut(step, overflow=overflow)
    covered = _covered(step, cut)
    if not covered:
        return False
    summary = _recorded_summary(step)
    if summary is not None and not again and _would_be_asked_for(step, summary, cut):
        _adopt(step, summary, covered, cut)
        return True
    if not again and _has_failed(step, cut):
        asked = step.request
        step.state = step.state._replace(touched=asked.started, failed_at=asked.index)
        return False
    words = "" if by_hand else _continuation(step, covered, overflow=overflow)
    tokens = _placeholder_tokens(step, covered, cut)
    if again is not None:
        tokens += sum(step.framed(one) for one in range(again.first, again.end))
    elif words:
        tokens += MESSAGE_TOKENS + step.sizes.count(words)
    beside = sum(step.framed(one) for one in step.sizes.beside if one < step.view.count)
    before = step.total - beside - step.sizes.remainders[step.request.index]
    freed = sum(step.framed(one) for one in covered) + step.summary_tokens
    judge = step.policy.compact.judge
    if judge and before - freed + tokens > step.policy.compact.max_share_after * before:
        return False
    _replace(step, covered, tokens, cut)
    continued = step.view.count if words or again is not None else -1
    step.state = step.state._replace(continued=continued)
    return True


def apply_history_limit(step: EngineStep) -> None:
    """Leave out what lies before the newest turns that the policy's history limit sends."""
    limit = step.policy.history_limit
    if not limit or limit <= 0:
        return
    users = [one.first for one in step.messages() if one.is_users]
    before = sum(step.state.gone <= one < step.state.dropped for one in step.sizes.users)
    keep = turns_kept(len(users) + before, limit, step.policy.limit)
    if keep >= len(users) or not users:
        return
    cut = users[-keep] if keep else step.view.count
    for one in _covered(step, cut):
        step.change(Change(one, "out"))
    step.state = step.state._replace(dropped=cut)


# Where a compaction cuts


def _cut(step: EngineStep, *, overflow: bool) -> tuple[int, ShownMessage | None]:
    """Return the first item that stays word for word, and the prompt that is said again."""
    policy = step.policy.compact
    history = step.messages()
    prompts = [one for one in history if one.is_users]
    again = prompts[-1] if policy.replay and overflow and len(prompts) > 1 else None
    if again is not None:
        history = [one for one in history if one.first < again.first]
    if step.state.gone and not policy.merge_summary:
        # The summary before is summarised again; with its marker it stands before all others.
        place = ShownMessage(step.state.gone, step.state.gone, is_users=False)
        history = [place, place, *history]
    users = [at for at, one in enumerate(history) if one.is_users]
    spans = list(zip(users, [*users, len(history)][1:], strict=True))
    budget = tail_budget(policy, usable(step.model, step.policy.overflow))
    start = tail_place(spans, policy, budget, lambda begin, end: _weight(step, history[begin:end]))
    return (step.view.count if start is None else history[start].first), again


def _weight(step: EngineStep, messages: list[ShownMessage]) -> int:
    """Return the tokens of messages as a tail is weighed."""
    if step.policy.estimator != CHARS4:
        return sum(step.framed(item) for one in messages for item in range(one.first, one.end))
    flat = [message for one in messages for message in _neutral(step, one)]
    return tail_tokens(tuple(flat), step.policy, step.sizes.count)


def _neutral(step: EngineStep, message: ShownMessage) -> list[NeutralMessage]:
    """Return a message as the engine would write it, without the provider's own data."""
    own: list[Block] = []
    results: list[Block] = []
    for index in range(message.first, message.end):
        item = step.view.item(index)
        if item.kind in BESIDE or not step.seen.shows(index):
            continue
        match item.kind:
            case "call":
                given = call_input(step.view.timeline, index)
                own.append(CallBlock(call_id=item.group, tool=item.tool, input=given))
            case "output":
                text = step.text(index)
                result = ResultBlock(
                    call_id=item.group, tool=item.tool, text=text, is_error=item.is_error
                )
                results.append(result)
            case "reasoning":
                own.append(ReasoningBlock(text=step.text(index)))
            case "media" if not item.group:
                own.append(MediaBlock(mime="", url="", filename=item.label))
            case "media":
                pass
            case _:
                own.append(TextBlock(text=step.text(index)))
    role: Literal["user", "assistant"] = "user" if message.is_users else "assistant"
    found = [NeutralMessage(role=role, blocks=tuple(own))] if own else []
    if results:
        found.append(NeutralMessage(role="tool", blocks=tuple(results)))
    return found


def _covered(step: EngineStep, cut: int) -> list[int]:
    """Return the items before a cut that a summary replaces; a call that waits for its result stays."""
    waiting = _waiting(step)
    return [
        one
        for one in range(max(step.state.gone, step.state.dropped), cut)
        if step.view.item(one).kind not in BESIDE
        and not step.view.item(one).pinned
        and one not in waiting
        and step.seen.shows(one)
    ]


def _waiting(step: EngineStep) -> set[int]:
    """Return the calls of the newest answer that have no result."""
    view, answer = step.view, range(*step.before.answer) if step.before else range(0)
    calls = (one for one in answer if view.item(one).kind == "call")
    return {one for one in calls if result_of_call(view, one) is None}


# What stands for the summary


def _recorded_summary(step: EngineStep) -> int | None:
    """Return the summary that was recorded before this request, and is not shown yet."""
    found = [
        index
        for index in range(step.state.items, step.view.count)
        if step.view.item(index).kind == "summary"
        and step.view.item(index).entered == step.request.index
        and index not in step.state.adopted
        and step.view.item(index).covers
    ]
    return found[-1] if found else None


def _would_be_asked_for(step: EngineStep, summary: int, cut: int) -> bool:
    """Return whether a recorded summary covers the same messages as a cut, and was asked for in the same way."""
    item = step.view.item(summary)
    events = (
        one
        for one in step.view.timeline.events
        if one.kind == "compact" and one.numbers.get("summary") == item.message
    )
    same = _is_same_cut(step, max(item.covers) + 1, cut)
    return same and all(_is_same_prompt(step, one) for one in events)


def _is_same_prompt(step: EngineStep, event: TimelineEvent) -> bool:
    """Return whether the policy has summaries written as the recorded one was, where the recording is ours."""
    if step.view.timeline.origin != "palimpsest":
        return True
    usual, own = CompactPolicy(), step.policy.compact
    return all(
        getattr(own, name) == event.numbers.get(name, getattr(usual, name)) for name in ASKED_FOR
    )


def _has_failed(step: EngineStep, cut: int) -> bool:
    """Return whether the recording asked for a summary of the same messages at this place, and got none.

    One that was stopped tells nothing of how it would have ended.
    """
    return any(
        one.kind == "compact failed"
        and one.request == step.request.index
        and one.numbers.get("error") != STOPPED
        and _is_same_prompt(step, one)
        and _is_same_cut(step, int(one.numbers.get("last", -1)) + 1, cut)
        for one in step.view.timeline.events
    )


def _is_same_cut(step: EngineStep, recorded: int, cut: int) -> bool:
    """Return whether two summaries that end before these items cover the same messages."""
    between = range(min(recorded, cut), max(recorded, cut))
    return all(
        step.view.item(one).kind in BESIDE or step.view.item(one).continues for one in between
    )


def _adopt(step: EngineStep, summary: int, covered: list[int], cut: int) -> None:
    """Show a recorded summary, and the text that went on after it."""
    _take_out_summary(step)
    for one in covered:
        step.change(Change(one, "summarised", tokens=0))
    step.change(Change(summary, "whole", numbers={"rule": "compact"}))
    shown = [summary]
    for one in range(summary + 1, step.view.count):
        if not step.view.item(one).continues:
            break
        step.change(Change(one, "whole"))
        shown.append(one)
    _begin_again(step, cut, place=-1, adopted=tuple(shown))


def _replace(step: EngineStep, covered: list[int], tokens: int, cut: int) -> None:
    """Show a placeholder of so many tokens in the place of what is covered."""
    place = step.state.place if step.state.place >= 0 else covered[0]
    _take_out_summary(step)
    for one in covered:
        if one != place:
            step.change(Change(one, "summarised", tokens=0))
    numbers = {"rule": "compact", "covers": len(covered)}
    step.change(Change(place, "summarised", tokens=tokens, numbers=numbers))
    _begin_again(step, cut, place=place, adopted=())


def _take_out_summary(step: EngineStep) -> None:
    """Take out the summary that was shown until now."""
    place = (step.state.place,) if step.state.place >= 0 else ()
    for one in (*place, *step.state.adopted):
        step.change(Change(one, "summarised", tokens=0))


def _begin_again(step: EngineStep, cut: int, *, place: int, adopted: tuple[int, ...]) -> None:
    """Remember a summary, and that asking for it used the provider's cache."""
    step.reduced = {item: one for item, one in step.reduced.items() if int(item) >= cut}
    step.state = step.state._replace(
        gone=cut,
        place=place,
        adopted=adopted,
        continued=-1,
        touched=step.request.started,
        summarised_at=step.request.index,
    )


def _placeholder_tokens(step: EngineStep, covered: list[int], cut: int) -> int:
    """Return the tokens of a summary that was never written, with the question that it answers."""
    weight = sum(step.framed(one) for one in covered)
    if step.state.gone and not step.policy.compact.merge_summary:
        # The summary before is summarised again.
        weight += step.summary_tokens
    tokens = min(step.summary, int(weight * LEAST_SHARE))
    tail = next((one for one in step.messages() if one.first >= cut), None)
    joined = tail is not None and not tail.is_users and step.policy.hygiene.rule in JOINING
    return tokens + (1 if joined else 2) * MESSAGE_TOKENS + step.sizes.count(COMPACTED)


def _continuation(step: EngineStep, covered: list[int], *, overflow: bool) -> str:
    """Return what the engine says after a summary to go on; empty where it says nothing."""
    policy = step.policy.compact
    if step.at_turn_end and not policy.always_continue:
        return ""
    if policy.continue_text:
        return (policy.refused_text if overflow else "") + policy.continue_text
    prompts = [one for one in covered if step.view.item(one).kind == "user"]
    hidden = bool(prompts) and not any(
        prompts[-1] < one < step.view.count for one in step.sizes.users
    )
    return CONTINUE_WITH.format(request=step.view.read(prompts[-1])) if hidden else CONTINUE


def without_undone(state: EngineState, view: PolicyView) -> EngineState:
    """Return the state without a summary that the user undid, so that what it covered is shown again."""
    if not state.gone:
        return state
    if state.place >= 0:
        undone = view.state(state.place) != "summarised"
    else:
        undone = bool(state.adopted) and view.state(state.adopted[0]) == "out"
    return state._replace(gone=0, place=-1, adopted=(), continued=-1) if undone else state
