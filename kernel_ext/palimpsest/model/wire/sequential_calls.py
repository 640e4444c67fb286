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
    out: list[NeutralMessage] = []
    held_messages: list[NeutralMessage] = []
    for message in messages:
        if message.role == "tool" and held_messages:
            out += _with_results(held_messages, message)
            held_messages = []
            continue
        out += held_messages
        held_messages = _rounds(message) if message.role == "assistant" else []
        if len(held_messages) < 2:
            out.append(message)
            held_messages = []
    return (*out, *held_messages)


def _rounds(message: NeutralMessage) -> list[NeutralMessage]:
    """Split an answer so that no piece has two identical calls."""
    rounds: list[list[Block]] = [[]]
    calls: list[list[tuple[str, str]]] = [[]]
    for block in message.blocks:
        if not isinstance(block, CallBlock):
            rounds[0].append(block)
            continue
        call = (block.tool, repr(block.input))
        at = next((i for i, before in enumerate(calls) if call not in before), len(calls))
        if at == len(calls):
            rounds.append([])
            calls.append([])
        rounds[at].append(block)
        calls[at].append(call)
    return [message.model_copy(update={"blocks": tuple(blocks)}) for blocks in rounds]


def _with_results(answers: list[NeutralMessage], results: NeutralMessage) -> list[NeutralMessage]:
    out: list[NeutralMessage] = []
    for answer in answers:
        identifiers = {block.call_id for block in answer.blocks if isinstance(block, CallBlock)}
        tool_results = tuple(
            block
            for block in results.blocks
            if isinstance(block, ResultBlock) and block.call_id in identifiers
        )
        out += [answer, results.model_copy(update={"blocks": tool_results})]
    return out
