"""Generate random histories from a seed: flat provider messages with arbitrary damage, and whole sessions.

A flat history begins as a plausible conversation, and is then damaged as imports, truncation and crashes
do. A seed always gives the same history, so a failure is identified by its number.
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

MAX_TURNS = 5
Damage = Callable[[OddInputs, list[NeutralMessage]], None]


def flat_history(seed: int) -> NeutralMessages:
    """Return a flat history of provider messages."""
    odd = OddInputs(seed)
    messages: list[NeutralMessage] = []
    for _ in range(1 + odd.count(MAX_TURNS)):
        messages += _turn(odd)
    for _ in range(1 + odd.count(4)):
        odd.one(DAMAGES)(odd, messages)
    if odd.chance(0.7):
        messages.append(_question(odd))
    if (
        messages and messages[-1].stop == "paused"
    ):  # only in a session of ours, which sends it back whole
        messages[-1] = messages[-1].model_copy(update={"stop": "stop"})
    return tuple(messages)


def _turn(odd: OddInputs) -> list[NeutralMessage]:
    messages = [_question(odd)]
    for _ in range(odd.count(3)):
        calls = [_call(odd) for _ in range(odd.count(3))]
        messages.append(_answer(odd, calls))
        results: list[Block] = [_result(odd, call) for call in calls]
        if results and odd.chance(0.5):
            messages.append(NeutralMessage(role="tool", blocks=tuple(results)))
        else:
            messages += [NeutralMessage(role="tool", blocks=(result,)) for result in results]
    if odd.chance(0.7):
        messages.append(_answer(odd, []))
    return messages


def _question(odd: OddInputs) -> NeutralMessage:
    blocks: list[Block] = [TextBlock(text=odd.words()) for _ in range(1 + odd.count(2))]
    if odd.chance(0.2):
        blocks += [odd.media() for _ in range(1 + odd.count(2))]
    return NeutralMessage(role="user", blocks=tuple(blocks), plain=odd.chance(0.2))


def _answer(odd: OddInputs, calls: list[CallBlock]) -> NeutralMessage:
    blocks: list[Block] = []
    if odd.chance(0.4):
        blocks.append(ReasoningBlock(text=odd.words(), metadata=odd.one(THOUGHTS)))
    if not calls or odd.chance(0.5):
        blocks.append(TextBlock(text=odd.words()))
    stop: Stop | None = odd.one([None, None, *get_args(Stop)])
    return NeutralMessage(role="assistant", blocks=(*blocks, *calls), stop=stop)


def _call(odd: OddInputs) -> CallBlock:
    return CallBlock(
        call_id=odd.one(IDS) if odd.chance(0.5) else f"call_{odd.random.randrange(10**6)}",
        tool=odd.one(TOOLS),
        input=odd.one(INPUTS),
        incomplete=odd.chance(0.05),
    )


def _result(odd: OddInputs, call: CallBlock) -> ResultBlock:
    media = tuple(odd.media() for _ in range(odd.count(2))) if odd.chance(0.2) else ()
    return ResultBlock(
        call_id=call.call_id,
        tool=call.tool if odd.chance(0.9) else odd.one(TOOLS),
        text=odd.words(),
        media=media,
        is_error=odd.chance(0.2),
    )


def _lose(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        messages.pop(odd.random.randrange(len(messages)))


def _lose_results(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    lost = [message for message in messages if message.role != "tool" or odd.chance(0.5)]
    messages[:] = lost


def _repeat(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        messages.insert(odd.random.randrange(len(messages) + 1), odd.one(messages))


def _swap(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    if messages:
        a, b = odd.random.randrange(len(messages)), odd.random.randrange(len(messages))
        messages[a], messages[b] = messages[b], messages[a]


def _shuffle(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    odd.random.shuffle(messages)


def _cut_head(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    del messages[: odd.random.randrange(len(messages) + 1)]


def _cut_tail(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    del messages[odd.random.randrange(len(messages) + 1) :]


def _orphan(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    orphan = NeutralMessage(role="tool", blocks=(_result(odd, _call(odd)),))
    messages.insert(odd.random.randrange(len(messages) + 1), orphan)


def _interrupt(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    role = odd.one(["user", "system", "assistant"])
    said = NeutralMessage(role=role, blocks=(TextBlock(text=odd.words()),))
    messages.insert(odd.random.randrange(len(messages) + 1), said)


def _empty(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    role = odd.one(["user", "system", "assistant", "tool"])
    messages.insert(odd.random.randrange(len(messages) + 1), NeutralMessage(role=role, blocks=()))


def _misplace(odd: OddInputs, messages: list[NeutralMessage]) -> None:
    """Give a message a block that its role cannot have."""
    if messages:
        at = odd.random.randrange(len(messages))
        block: Block = odd.one([_call(odd), _result(odd, _call(odd)), odd.media()])
        blocks = (*messages[at].blocks, block)
        messages[at] = messages[at].model_copy(update={"blocks": blocks})


DAMAGES: tuple[Damage, ...] = (
    *(_lose, _lose_results, _repeat, _swap, _shuffle, _cut_head),
    *(_cut_tail, _orphan, _interrupt, _empty, _misplace),
)
