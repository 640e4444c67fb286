"""Grade a new summary before a request uses it: which names it keeps and loses, and which are likely to be needed.

Border: pure. What is needed later nobody knows yet: names that the newest answers and the newest prompt use are
taken for likely, an estimate. Names are found and lost by ``lost_names.py``, as review finds them afterwards; what a
system prompt holds is not looked at.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.context.compaction.constraints import CONSTRAINTS
from palimpsest.context.compaction.loss_report import LONGEST_LIST, earlier_names_of
from palimpsest.context.compaction.lost_names import lost_names
from palimpsest.context.compaction.names import NAMES_VERSION, names_of
from palimpsest.context.visible_messages import View, is_good_summary
from palimpsest.transcript.context_values.decisions import ANOTHER, UNDO, Decision, undone
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    TextBlock,
)
from palimpsest.transcript.messages import AssistantMessage

RECENT_ANSWERS = 5
"""Of so many of the newest answers, and of the newest prompt, names are taken for likely to be needed."""


def summary_grade(
    before: Sequence[NeutralMessage],
    covered: frozenset[str],
    summary: str,
    beside: Sequence[NeutralMessage],
    spoken: frozenset[str],
    version: int = NAMES_VERSION,
) -> dict[str, Any]:
    """Return the grade of a summary as numbers of a decision; ``version`` is that of the rules for names.

    ``before`` is the request without the summary, ``covered`` names its parts that are replaced, ``beside`` is
    what the next request shows besides the summary, and ``spoken`` names the parts that are a person's own words.
    """
    blocks = [block for message in before for block in message.blocks]
    replaced = [_text(block) for block in blocks if block.part_id in covered]
    said = [
        block.text
        for message in before
        if message.role == "user"
        for block in message.blocks
        if block.part_id in covered & spoken and isinstance(block, TextBlock)
    ]
    kept = [_text(block) for message in beside for block in message.blocks]
    names = names_of if version == NAMES_VERSION else earlier_names_of
    lost = lost_names(replaced, summary, kept, names, said if version == NAMES_VERSION else ())
    recent = {name for block in _newest(before) for _, name in names(_text(block))}
    told: dict[str, dict[str, object]] = {}
    for kind, found in lost.found.items():
        gone = lost.of(kind)
        # What a person forbade or demanded holds until they say otherwise.
        likely = [name for name in gone if name in recent or kind == CONSTRAINTS]
        others = [name for name in gone if name not in likely]
        told[kind] = {
            "found": found,
            "lost": len(gone),
            "names": [*likely, *others][:LONGEST_LIST],
            "likely": len(likely),
        }
    # Grades of earlier versions hold no version.
    numbered = {"names": version} if version == NAMES_VERSION else {}
    return {"retention": told, "recent": RECENT_ANSWERS, **numbered}


def unused_summary(view: View) -> Decision | None:
    """Return the report on the newest summary while no answer came after it, and nobody undid it."""
    gone, replaced = undone(view.decisions), set[str]()
    for message in reversed(view.messages):
        info = message.info
        if not isinstance(info, AssistantMessage):
            continue
        if not info.summary:
            return None
        if is_good_summary(info) and info.parent_id not in replaced:
            if info.id not in gone:
                reports = (one for one in reversed(view.decisions) if "retention" in one.numbers)
                return next((one for one in reports if one.message_id == info.id), None)
            replaced.add(info.parent_id)
    return None


def summary_put_aside(view: View) -> Decision | None:
    """Return the report on the summary that a person put aside last and can take back; None after the next answer.

    An answer that failed, as where the turn was stopped meanwhile, ends nothing.
    """
    asked = undone(view.decisions) & {
        one.message_id for one in view.decisions if one.rule == UNDO and one.numbers.get(ANOTHER)
    }
    for message in reversed(view.messages):
        info = message.info
        if info.id in asked:
            reports = (one for one in reversed(view.decisions) if "retention" in one.numbers)
            return next((one for one in reports if one.message_id == info.id), None)
        if isinstance(info, AssistantMessage) and not info.summary and info.error is None:
            return None
    return None


def _newest(messages: Sequence[NeutralMessage]) -> Iterator[Block]:
    """Yield the blocks of the newest answers, and of the newest prompt."""
    answers = [one for one in messages if one.role == "assistant"][-RECENT_ANSWERS:]
    prompts = [one for one in messages if one.role == "user"][-1:]
    for message in (*answers, *prompts):
        yield from message.blocks


def _text(block: Block) -> str:
    """Return what a block shows as text."""
    match block:
        case CallBlock(tool=tool, input=given):
            return tool + json.dumps(given)
        case MediaBlock(filename=filename, mime=mime):
            return filename or mime
        case _:
            return block.text
