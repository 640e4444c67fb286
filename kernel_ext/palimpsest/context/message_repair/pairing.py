"""Make every tool call have exactly one result, right after it.

``neutral_messages`` returns pairs already; histories cut by a limit, and imported ones, may lack them.
"""

from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ResultBlock,
)

MISSING_RESULT_TEXT = "[No result was recorded for this tool call]"


def with_paired_results(messages: NeutralMessages) -> NeutralMessages:
    """Drop orphaned and repeated results, add missing ones, and put each run of results after its calls."""
    results: dict[str, list[ResultBlock]] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ResultBlock):
                results.setdefault(block.call_id, []).append(block)
    paired_messages: list[NeutralMessage] = []
    for message in messages:
        if message.role == "tool":
            continue
        paired_messages.append(message)
        calls = [block for block in message.blocks if isinstance(block, CallBlock)]
        if calls:
            answers: tuple[Block, ...] = tuple(_result_of_call(call, results) for call in calls)
            paired_messages.append(
                NeutralMessage(role="tool", blocks=answers, message_id=message.message_id)
            )
    return tuple(paired_messages)


def _result_of_call(call: CallBlock, results: dict[str, list[ResultBlock]]) -> ResultBlock:
    unused_results = results.get(call.call_id)
    if unused_results:
        return unused_results.pop(0)
    return ResultBlock(
        call_id=call.call_id,
        tool=call.tool,
        text=MISSING_RESULT_TEXT,
        is_error=True,
        part_id=call.part_id,
    )
