"""Put identical tool calls of one answer into separate steps, for servers that would merge them.

Pure. Where a server has no call ids, litellm sends identical calls of one answer once, but all of their
results, which the server refuses. So the second of two identical calls becomes a separate step.
"""

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)


def sequential_calls(messages: NeutralMessages) -> NeutralMessages:
    """Return the messages with identical calls of an answer in separate steps."""
    split_messages: list[NeutralMessage] = []
    held_messages: list[NeutralMessage] = []
    for message in messages:
        if message.role == "tool" and held_messages:
            split_messages += _with_results(held_messages, message)
            held_messages = []
            continue
        split_messages += held_messages
        held_messages = _split_answer(message) if message.role == "assistant" else []
        if len(held_messages) < 2:
            split_messages.append(message)
            held_messages = []
    return (*split_messages, *held_messages)


def _split_answer(message: NeutralMessage) -> list[NeutralMessage]:
    """Return an answer as several, none of which has two identical calls."""
    blocks_of_steps: list[list[Block]] = [[]]
    calls_of_steps: list[list[tuple[str, str]]] = [[]]
    for block in message.blocks:
        if not isinstance(block, CallBlock):
            blocks_of_steps[0].append(block)
            continue
        call = (block.tool, repr(block.input))
        free_steps = (index for index, calls in enumerate(calls_of_steps) if call not in calls)
        step = next(free_steps, len(calls_of_steps))
        if step == len(calls_of_steps):
            blocks_of_steps.append([])
            calls_of_steps.append([])
        blocks_of_steps[step].append(block)
        calls_of_steps[step].append(call)
    return [message.model_copy(update={"blocks": tuple(blocks)}) for blocks in blocks_of_steps]


def _with_results(answers: list[NeutralMessage], results: NeutralMessage) -> list[NeutralMessage]:
    split_messages: list[NeutralMessage] = []
    for answer in answers:
        call_ids = {block.call_id for block in answer.blocks if isinstance(block, CallBlock)}
        tool_results = tuple(
            block
            for block in results.blocks
            if isinstance(block, ResultBlock) and block.call_id in call_ids
        )
        split_messages += [answer, results.model_copy(update={"blocks": tool_results})]
    return split_messages
