"""Random histories from a seed: flat ones, in which anything may be wrong, and whole sessions.

A flat history begins as a plausible conversation, and is then damaged as imports, cuts and crashes
damage it. A seed gives the same history for ever, so a failure is told by a number.
"""

from collections.abc import Callable
from typing import get_args

from tests.context.odd_inputs import IDS, INPUTS, THOUGHTS, TOOLS, OddInputs

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    Stop,
    TextBlock,
)

MOST_TURNS = 5
Damage = Callable[[OddInputs, list[NeutralMessage]], None]


def flat_history(seed: int) -> NeutralMessages:
    """Return a flat history."""
    wild = OddInputs(seed)
    messages: list[NeutralMessage] = []
    for _ in range(1 + wild.count(MOST_TURNS)):
        messages += _turn(wild)
    for _ in range(1 + wild.count(4)):
        wild.one(DAMAGES)(wild, messages)
    if wild.chance(0.7):
        messages.append(_question(wild))
    return tuple(messages)


def _turn(wild: OddInputs) -> list[NeutralMessage]:
    messages = [_question(wild)]
    for _ in range(wild.count(3)):
        calls = [_call(wild) for _ in range(wild.count(3))]
        messages.append(_answer(wild, calls))
        results: list[Block] = [_result(wild, call) for call in calls]
        if results and wild.chance(0.5):
            messages.append(NeutralMessage(role="tool", blocks=tuple(results)))
        else:
            messages += [NeutralMessage(role="tool", blocks=(one,)) for one in results]
    if wild.chance(0.7):
        messages.append(_answer(wild, []))
    return messages


def _question(wild: OddInputs) -> NeutralMessage:
    blocks: list[Block] = [TextBlock(text=wild.words()) for _ in range(1 + wild.count(2))]
    if wild.chance(0.2):
        blocks += [wild.media() for _ in range(1 + wild.count(2))]
    return NeutralMessage(role="user", blocks=tuple(blocks), plain=wild.chance(0.2))


def _answer(wild: OddInputs, calls: list[CallBlock]) -> NeutralMessage:
    blocks: list[Block] = []
    if wild.chance(0.4):
        blocks.append(ReasoningBlock(text=wild.words(), metadata=wild.one(THOUGHTS)))
    if not calls or wild.chance(0.5):
        blocks.append(TextBlock(text=wild.words()))
    stop: Stop | None = wild.one([None, None, *get_args(Stop)])
    return NeutralMessage(role="assistant", blocks=(*blocks, *calls), stop=stop)


def _call(wild: OddInputs) -> CallBlock:
    return CallBlock(
        call_id=wild.one(IDS) if wild.chance(0.5) else f"call_{wild.random.randrange(10**6)}",
        tool=wild.one(TOOLS),
        input=wild.one(INPUTS),
        incomplete=wild.chance(0.05),
    )


def _result(wild: OddInputs, call: CallBlock) -> ResultBlock:
    media = tuple(wild.media() for _ in range(wild.count(2))) if wild.chance(0.2) else ()
    return ResultBlock(
        call_id=call.call_id,
        tool=call.tool if wild.chance(0.9) else wild.one(TOOLS),
        text=wild.words(),
        media=media,
        is_error=wild.chance(0.2),
    )


def _lose(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        messages.pop(wild.random.randrange(len(messages)))


def _lose_results(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    lost = [one for one in messages if one.role != "tool" or wild.chance(0.5)]
    messages[:] = lost


def _repeat(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        messages.insert(wild.random.randrange(len(messages) + 1), wild.one(messages))


def _swap(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        a, b = wild.random.randrange(len(messages)), wild.random.randrange(len(messages))
        messages[a], messages[b] = messages[b], messages[a]


def _shuffle(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    wild.random.shuffle(messages)


def _cut_head(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    del messages[: wild.random.randrange(len(messages) + 1)]


def _cut_tail(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    del messages[wild.random.randrange(len(messages) + 1) :]


def _orphan(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    orphan = NeutralMessage(role="tool", blocks=(_result(wild, _call(wild)),))
    messages.insert(wild.random.randrange(len(messages) + 1), orphan)


def _interrupt(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    role = wild.one(["user", "system", "assistant"])
    said = NeutralMessage(role=role, blocks=(TextBlock(text=wild.words()),))
    messages.insert(wild.random.randrange(len(messages) + 1), said)


def _empty(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    role = wild.one(["user", "system", "assistant", "tool"])
    messages.insert(wild.random.randrange(len(messages) + 1), NeutralMessage(role=role, blocks=()))


def _misplace(wild: OddInputs, messages: list[NeutralMessage]) -> None:
    """Give somebody a block that only others can say."""
    if messages:
        at = wild.random.randrange(len(messages))
        block: Block = wild.one([_call(wild), _result(wild, _call(wild)), wild.media()])
        blocks = (*messages[at].blocks, block)
        messages[at] = messages[at].model_copy(update={"blocks": blocks})


DAMAGES: tuple[Damage, ...] = (
    *(_lose, _lose_results, _repeat, _swap, _shuffle, _cut_head),
    *(_cut_tail, _orphan, _interrupt, _empty, _misplace),
)
