"""One sample of every rule and of every type of part, with the text that HTML shows of it.

``python -m tests.render.reader_samples`` writes them to ``tests/fixtures/reader_samples.json``, with which
the panel is tested too: it must show the same text as HTML
(``labextension/tests/pageMatchesHtml.test.tsx``).
"""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard, get_args

from tests.render.sample_parts import EVERYTHING, IDS, T0, assistant, ran

from palimpsest.frontends.protocol.page_records import with_sentence
from palimpsest.loop.turn import STOP_NOTICES, STOP_SUBJECT, UNATTENDED_SENTENCE
from palimpsest.render.content.outline import (
    Item,
    NoticeItem,
    OutlineNotes,
    ReductionItem,
    outline_parts,
)
from palimpsest.render.formats.html import render_message
from palimpsest.session.runs.tool_gate import TURN_ENDED_SENTENCE
from palimpsest.transcript.context_values.decisions import OWN_RULES, Decision, DecisionAction
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE, PruneRule
from palimpsest.transcript.errors import UnknownError
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import CompactionPart, Part, SnapshotPart, TextPart
from palimpsest.transcript.user_notices import user_notice

FIXTURE = Path(__file__).parent.parent / "fixtures" / "reader_samples.json"
RULES = (
    *OWN_RULES,
    *(f"{PRUNE_RULE}{name}" for name in get_args(PruneRule) if name != "none"),
)
"""Every rule of a decision, except a user's hooks."""

ENDS = {"head_chars": 1_500, "tail_chars": 900, "omitted": 412, "unit": "lines"}
SAMPLES: tuple[tuple[str, DecisionAction, dict[str, Any]], ...] = (
    ("truncate", "truncate", {"max_lines": 2_000, "max_bytes": 50_000, **ENDS}),
    ("recover/oversized", "truncate", {"limit_chars": 24_000, **ENDS}),
    ("remind/steered", "wrap", {"before": "<note>", "after": ""}),
    ("remind/steered", "wrap", {"before": "", "after": ""}),
    ("remind/mode", "drop", {}),
    (
        "compact",
        "summarise",
        {"retention": {"paths": {"found": 3, "lost": 1, "names": ["old/a.csv"]}}},
    ),
    ("compact/aside", "drop", {"timed_out": True}),
    ("compact/aside", "drop", {"timed_out": False}),
    ("compact/plan", "summarise", {"tail_start_id": "msg_1"}),
    ("import", "clear", {"text": "[Old tool result content cleared]"}),
    ("user/pin", "pin", {}),
    ("user/unpin", "restore", {}),
    ("user/exclude", "drop", {}),
    ("user/restore", "restore", {}),
    ("user/undo-compaction", "restore", {"prompt": "msg_1"}),
    ("user/redo-compaction", "keep", {}),
    (
        "prune/opencode",
        "clear",
        {"protect_tokens": 40_000, "reached_tokens": 51_204, "batch_tokens": 23_100},
    ),
    ("prune/cache-ttl", "clear", {"cache_age_seconds": 312.0}),
    ("prune/cache-ttl", "truncate", {"cache_age_seconds": 312.0, **ENDS}),
    *(
        (
            "prune/batch",
            "clear",
            {"reason": reason, "protect_tokens": 40_000, "batch_tokens": 30_000, **when},
        )
        for reason in ("old", "read-again", "changed")
        for when in ({"cold": True}, {"used_tokens": 91_000, "start_tokens": 84_000})
    ),
    ("hook/careful", "clear", {"text": "[cleared]"}),
    (
        "limit/pictures",
        "truncate",
        {
            "pictures": {
                "0": {
                    "name": "plot.png",
                    "size": [2_800, 1_600],
                    "to": [1_900, 1_086],
                    "url": "blob:0",
                },
                "1": {"name": "map.png", "out": "[picture left out: map.png.]"},
            },
            "limit": "many_side",
            "most": 2_000,
        },
    ),
    ("limit/tools", "keep", {"most": 128, "model": "openai/gpt-5.4"}),
)

CALL = ran("read", "line", "prt_call", title="a.txt", path="a.txt")
PARTS: tuple[Part, ...] = (
    *(part for part in EVERYTHING if part.id != "prt_c8"),  # long, and similar to the others
    SnapshotPart(id="p10", **IDS, snapshot="snap_1"),
    CompactionPart(id="p11", **IDS, auto=True, overflow=True),
    CompactionPart(id="p12", **IDS, auto=False),
)
"""Every type of part, in its variants."""
HIDDEN = {"id", "session_id", "message_id", "call_id", "type", "url", "hash", "status"}
"""Ids, addresses and states, which are not shown or shown in other words."""


def decisions() -> Iterator[dict[str, Any]]:
    """Yield each sample decision as a page receives it, with the text that HTML shows of it."""
    for number, (rule, action, numbers) in enumerate(SAMPLES):
        made = Decision(
            id=f"dec_{number}",
            action=action,
            rule=rule,
            message_id=CALL.message_id,
            part_id=None if action == "summarise" else CALL.id,
            numbers=numbers,
            tokens_before=4_000,
            tokens_after=15,
        )
        yield {
            "decision": with_sentence(made).model_dump(mode="json", exclude_none=True),
            "strip": strip(made),
        }


def message_of(decision: Decision) -> Message:
    """Return the message that a decision is about: a call, or a summary."""
    if decision.part_id is not None:
        return assistant(CALL)
    summary = assistant(TextPart(id="prt_s", **IDS, text="We read a file."))
    assert isinstance(summary.info, AssistantMessage)
    return summary.model_copy(update={"info": summary.info.model_copy(update={"summary": True})})


def strip(decision: Decision) -> str:
    """Return the line that HTML shows below the subject of a decision; empty if none."""
    made = render_message(message_of(decision), notes=OutlineNotes(decisions=(decision,)))
    matches = re.findall(r'<p class="strip">(.*?)</p>', made)
    return words(matches[0]) if matches else ""


def parts() -> Iterator[dict[str, Any]]:
    """Yield each part, with those of its own texts that HTML shows."""
    for part in PARTS:
        said = words(render_message(assistant(part)))
        sentences = [
            outline_part.sentence
            for outline_part in outline_parts([part])
            if _is_fixed(outline_part)
        ]
        yield {
            "part": part.model_dump(mode="json", exclude_none=True),
            "shown": bool(said),
            "facts": sorted(
                {leaf for leaf in leaves(facts_of(part)) if leaf in said and leaf != "length"}
                | set(sentences)
            ),
        }


def _is_fixed(item: Item) -> TypeGuard[ReductionItem | NoticeItem]:
    """Return whether a part is shown only as a fixed sentence about it."""
    return isinstance(item, ReductionItem) or (
        isinstance(item, NoticeItem) and item.tone == "error"
    )


def ends() -> Iterator[dict[str, Any]]:
    """Yield the last answers of turns that the model did not end, each with the sentence about it."""
    for by, words_said in (*STOP_NOTICES.items(), ("rejected", UNATTENDED_SENTENCE)):
        notice = user_notice(
            "prt_end", IDS["session_id"], IDS["message_id"], STOP_SUBJECT, words_said
        )
        yield _ended(assistant(notice), by, words_said)
    why = TURN_ENDED_SENTENCE.format(words="python df.head()")
    yield _ended(assistant(), "circle", why, UnknownError(message=why, explained=True))


def _ended(
    message: Message, by: str, sentence: str, error: UnknownError | None = None
) -> dict[str, Any]:
    info = message.info.model_copy(update={"stopped_by": by, "error": error})
    made = message.model_copy(update={"info": info})
    return {
        "message": made.model_dump(mode="json", exclude_none=True),
        "by": by,
        "sentence": sentence,
    }


def facts_of(part: Part) -> Any:
    """Return a part's fields."""
    return part.model_dump(mode="json", exclude_none=True)


def leaves(value: Any) -> Iterator[str]:
    """Yield the strings in a value, line by line."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner) if name not in HIDDEN else ()
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield from (" ".join(line.split()) for line in value.split("\n") if len(line.strip()) > 2)


def words(page: str) -> str:
    """Return the text of a page, without tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def written() -> str:
    """Return the fixture file's content."""
    told = {
        "time": T0,
        "decisions": list(decisions()),
        "parts": list(parts()),
        "ends": list(ends()),
    }
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    FIXTURE.write_text(written(), encoding="utf-8")
