"""Grade a new summary before a request uses it: which names it keeps and loses, and which are likely to be needed.

Border: pure. Which names will be needed is an estimate: those that the newest answers and the newest prompt use
count as likely. ``lost_names.py`` finds the names, in the engine and in review; system prompts are not examined.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.context.compaction.constraints import CONSTRAINTS
from palimpsest.context.compaction.loss_report import MAX_LISTED_NAMES, earlier_names_of
from palimpsest.context.compaction.lost_names import lost_names
from palimpsest.context.compaction.names import NAMES_VERSION, names_of
from palimpsest.context.visible_messages import View, is_good_summary
from palimpsest.transcript.context_values.decisions import (
    ANOTHER,
    UNDO,
    Decision,
    undone_compactions,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    TextBlock,
)
from palimpsest.transcript.messages import AssistantMessage

RECENT_ANSWERS = 5
"""Names in this many of the newest answers, and in the newest prompt, count as likely to be needed."""


def summary_grade(
    messages_before: Sequence[NeutralMessage],
    covered_part_ids: frozenset[str],
    summary: str,
    kept_messages: Sequence[NeutralMessage],
    user_part_ids: frozenset[str],
    version: int = NAMES_VERSION,
) -> dict[str, Any]:
    """Return the grade of a summary as numbers of a decision; ``version`` is that of the rules for names.

    ``messages_before`` is the request without the summary. The summary replaces the parts in ``covered_part_ids``; ``kept_messages``
    are the other messages of the next request, and the user wrote the parts in ``user_part_ids``.
    """
    blocks = [block for message in messages_before for block in message.blocks]
    replaced_texts = [_block_text(block) for block in blocks if block.part_id in covered_part_ids]
    user_texts = [
        block.text
        for message in messages_before
        if message.role == "user"
        for block in message.blocks
        if block.part_id in covered_part_ids & user_part_ids and isinstance(block, TextBlock)
    ]
    shown_texts = [_block_text(block) for message in kept_messages for block in message.blocks]
    is_current = version == NAMES_VERSION
    names = names_of if is_current else earlier_names_of
    losses = lost_names(
        replaced_texts, summary, shown_texts, names, user_texts if is_current else ()
    )
    newest_texts = map(_block_text, _newest_blocks(messages_before))
    recent_names = {name for text in newest_texts for _, name in names(text)}
    by_kind: dict[str, dict[str, object]] = {}
    for kind, name_count in losses.counts_by_kind.items():
        lost_of_kind = losses.names_of_kind(kind)
        # The user's constraints hold until the user lifts them.
        likely_needed = [
            name for name in lost_of_kind if name in recent_names or kind == CONSTRAINTS
        ]
        other_names = [name for name in lost_of_kind if name not in likely_needed]
        by_kind[kind] = {
            "found": name_count,
            "lost": len(lost_of_kind),
            "names": [*likely_needed, *other_names][:MAX_LISTED_NAMES],
            "likely": len(likely_needed),
        }
    # Grades of earlier versions have no version.
    version_numbers = {"names": version} if is_current else {}
    return {"retention": by_kind, "recent": RECENT_ANSWERS, **version_numbers}


def unused_summary_report(view: View) -> Decision | None:
    """Return the report on the newest summary unless an answer came after it or it was undone."""
    undone_ids, replaced_ids = undone_compactions(view.decisions), set[str]()
    for message in reversed(view.messages):
        info = message.info
        if not isinstance(info, AssistantMessage):
            continue
        if not info.summary:
            return None
        if is_good_summary(info) and info.parent_id not in replaced_ids:
            if info.id not in undone_ids:
                return _report_on(info.id, view)
            replaced_ids.add(info.parent_id)
    return None


def set_aside_summary_report(view: View) -> Decision | None:
    """Return the report on the summary that the user set aside last and can restore; None after the next answer.

    A failed answer, as of a turn that was stopped, does not count.
    """
    set_aside_ids = undone_compactions(view.decisions) & {
        decision.message_id
        for decision in view.decisions
        if decision.rule == UNDO and decision.numbers.get(ANOTHER)
    }
    for message in reversed(view.messages):
        info = message.info
        if info.id in set_aside_ids:
            return _report_on(info.id, view)
        if isinstance(info, AssistantMessage) and not info.summary and info.error is None:
            return None
    return None


def _report_on(summary_id: str, view: View) -> Decision | None:
    """Return the newest report on a summary."""
    reports = (decision for decision in reversed(view.decisions) if "retention" in decision.numbers)
    return next((report for report in reports if report.message_id == summary_id), None)


def _newest_blocks(messages: Sequence[NeutralMessage]) -> Iterator[Block]:
    """Yield the blocks of the newest answers, and of the newest prompt."""
    answers = [other for other in messages if other.role == "assistant"][-RECENT_ANSWERS:]
    prompts = [other for other in messages if other.role == "user"][-1:]
    for message in (*answers, *prompts):
        yield from message.blocks


def _block_text(block: Block) -> str:
    match block:
        case CallBlock(tool=tool, input=arguments):
            return tool + json.dumps(arguments)
        case MediaBlock(filename=filename, mime=mime):
            return filename or mime
        case _:
            return block.text
