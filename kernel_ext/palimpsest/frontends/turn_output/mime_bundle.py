"""Write one segment of a turn as a MIME bundle: for Palimpsest's front end, for other front ends, and for a terminal.

Border: pure; writes a segment in three formats, capped and without secrets. The notebook is
a document that may be passed on, so it holds no secret, no tool output can fill it, and it keeps few of the file changes
that the session has.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from palimpsest.frontends.protocol.page_records import with_sentence
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.segments import Segment, segment_messages
from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.render.content.phrases import count, counted_noun
from palimpsest.render.content.turn_figures import figures_item
from palimpsest.render.formats import markdown, text
from palimpsest.render.formats.item_writer import ItemWriter, joined_blocks, numbered_messages
from palimpsest.render.safety.escaping import escape_inline
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.call_outcomes import FAILURE_LINE, call_outcome
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import Message, UserMessage
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.session_record.reverts import FileDiff
from palimpsest.transcript.values import Ask, Density, Value
from palimpsest.transcript.visible_text import visible_text

SEGMENT_MIME = "application/vnd.palimpsest.segment+json"
SEGMENT_VERSION = 1
MAX_REASONING_CHARS = 2_000
"""Maximum characters of a reasoning part in the notebook; the session keeps all of it."""
MAX_METADATA_CHARS = 400
"""Maximum characters of a value of a tool's metadata in the notebook."""
MAX_SAVED_CHARS = 8_000
"""Maximum characters of one turn's diffs that a notebook keeps."""
MAX_SAVED_FILES = 50
MAX_NAMED_FILES = 5

Scrub = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts about the turn and session that every segment contains."""

    session: str
    """The session's id."""
    turn: str
    """The turn's id."""
    seq: tuple[int, int]
    """The numbers of the turn's first and newest records."""
    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    status: str = ""
    """A line of Markdown under an open segment, on what the agent waits for."""
    mode: str = ""
    """The permission mode; empty for ``ask``."""
    changes: tuple[FileDiff, ...] = ()
    """The turn's file changes; empty until it has ended."""
    density: Density = "quiet"
    """The default amount of detail."""


def segment_bundle(
    messages: Sequence[Message],
    segment: Segment,
    turn_facts: TurnFacts,
    *,
    notes: OutlineNotes,
    scrub: Scrub,
) -> dict[str, Any]:
    """Return the MIME bundle of one segment."""
    scrub = cache(scrub)  # the three formats hold the same texts
    messages_inside = list(segment_messages(messages, segment))
    is_open = segment.end is None and bool(turn_facts.status)
    status = turn_facts.status if is_open else ""
    changes = turn_facts.changes if segment.end is None else ()
    # The mode is shown once, where the turn begins.
    begins_turn = segment.start.part == 0 and segment.start.offset == 0
    mode_text = f"*Permission mode: {escape_inline(turn_facts.mode)}*"
    text_above = mode_text if turn_facts.mode and begins_turn else ""
    text_below = status or (f"*{escape_inline(_changes_text(changes))}*" if changes else "")
    totals_item = None if is_open or segment.end is not None else figures_item(messages)

    def turn_text(writer: ItemWriter) -> str:
        turn_messages = numbered_messages(messages_inside, segment.caps, segment.first_step)
        density = turn_facts.density
        rows = writer.turn(
            turn_messages, scrub=scrub, notes=notes, density=density, is_running=is_open
        )
        shown_totals = totals_item if density == "quiet" else None
        return joined_blocks(
            [rows, writer.render_step(shown_totals) if shown_totals is not None else ""]
        )

    return {
        SEGMENT_MIME: {
            "version": SEGMENT_VERSION,
            "session": turn_facts.session,
            "turn": turn_facts.turn,
            "seq": list(turn_facts.seq),
            "open": is_open,
            "messages": _messages_json(messages_inside, segment.caps, scrub),
            "asks": _values_json(turn_facts.asks, scrub),
            "questions": _values_json(turn_facts.questions, scrub),
            "replies": _scrubbed(_replies_by_call(messages_inside, notes), scrub),
            "decisions": _values_json(_explained_decisions(messages_inside, notes), scrub),
            "changes": _scrubbed(saved_changes(changes), scrub),
            "first_step": segment.first_step,
            "density": turn_facts.density,
            **({"mode": turn_facts.mode} if turn_facts.mode else {}),
            "status": status,
            "start": _cut_json(segment.start, segment.start.joint),
            "end": _cut_json(segment.end, segment.closing_text),
        },
        "text/markdown": joined_blocks([text_above, turn_text(markdown.WRITER), text_below]),
        "text/plain": visible_text(
            joined_blocks([text_above.strip("*"), turn_text(text.WRITER), text_below.strip("*")])
        ),
    }


def turn_changes(messages: Sequence[Message], turn_id: str) -> tuple[FileDiff, ...]:
    """Return a turn's file changes, which are recorded in its user message."""
    info = next((message.info for message in messages if message.id == turn_id), None)
    diffs_json = (info.summary or {}).get("diffs") if isinstance(info, UserMessage) else None
    diffs = []
    for diff_json in diffs_json if isinstance(diffs_json, list) else ():
        with suppress(ValidationError):  # of another version
            diffs.append(FileDiff.model_validate(diff_json))
    return tuple(diffs)


def _changes_text(changes: Sequence[FileDiff]) -> str:
    """Return a summary such as "2 files changed, +3 -1: a.txt, b.txt"."""
    lines_added = sum(change.additions for change in changes)
    lines_removed = sum(change.deletions for change in changes)
    names = ", ".join(change.file for change in changes[:MAX_NAMED_FILES])
    more_text = ""
    if len(changes) > MAX_NAMED_FILES:
        more_text = f" and {count(len(changes) - MAX_NAMED_FILES)} more"
    return f"{counted_noun(len(changes), 'file')} changed, +{lines_added:,} -{lines_removed:,}: {names}{more_text}"


def saved_changes(changes: Sequence[FileDiff]) -> list[dict[str, Any]]:
    """Return the changes as a notebook saves them: names, numbers, and short diffs."""
    chars_left = MAX_SAVED_CHARS
    diffs_json = []
    for change in changes[:MAX_SAVED_FILES]:
        size = len(change.patch or "")
        patch = change.patch if size <= chars_left else None
        chars_left -= size if patch else 0
        saved_change = change.model_copy(update={"patch": patch, "before": None, "after": None})
        diffs_json.append(saved_change.model_dump(mode="json", exclude_none=True))
    return diffs_json


def shown_mode(snapshot: Snapshot) -> str:
    """Return the session's permission mode; empty for ``ask``."""
    mode = snapshot.session.mode if snapshot.session is not None else None
    return mode if mode is not None and mode != "ask" else ""


def ended_turn_facts(
    session_id: str, turn_id: str, snapshot: Snapshot, first_seq: int, density: Density
) -> TurnFacts:
    """Return the facts about a turn that has ended."""
    return TurnFacts(
        session_id,
        turn_id,
        seq=(first_seq, snapshot.seq),
        mode=shown_mode(snapshot),
        changes=turn_changes(snapshot.messages, turn_id),
        density=density,
    )


def _cut_json(position: SegmentCut | None, joint_text: str) -> list[Any] | None:
    """Return a cut as JSON values, by which a page cuts its own messages in the same place."""
    return None if position is None else [position.part, position.offset, joint_text]


def status_line(sentence: str) -> str:
    """Return plain text as the Markdown line under an open segment."""
    return f"*{escape_inline(sentence)}*" if sentence else ""


def _replies_by_call(messages: Sequence[Message], notes: OutlineNotes) -> dict[str, Any]:
    calls = [part for message in messages for part in message.parts if isinstance(part, ToolPart)]
    replies = [(part.call_id, notes.question_and_reply(part)[1]) for part in calls]
    return {
        call_id: reply.model_dump(mode="json", exclude_none=True)
        for call_id, reply in replies
        if reply is not None
    }


def _explained_decisions(messages: Sequence[Message], notes: OutlineNotes) -> list[Decision]:
    message_ids = {message.id for message in messages}
    part_ids = {part.id for message in messages for part in message.parts}
    return [
        with_sentence(decision)
        for decision in notes.decisions
        if decision.part_id in part_ids
        or (decision.part_id is None and decision.message_id in message_ids)
    ]


def _messages_json(messages: Sequence[Message], caps: Caps, scrub: Scrub) -> list[dict[str, Any]]:
    """Return the messages as JSON values; texts of tools are cut to the rest of the turn's limit."""
    chars_left = caps.bytes_per_turn
    messages_json = []
    for message in messages:
        message_json = message.model_dump(mode="json", exclude_none=True)
        for part, part_json in zip(message.parts, message_json["parts"], strict=True):
            if isinstance(part, ToolPart):
                _add_failure_reason(part, part_json)
                chars_left -= _cap_call(part_json, min(caps.bytes_per_call, chars_left))
            elif part_json["type"] == "reasoning":
                part_json["text"] = part_json["text"][:MAX_REASONING_CHARS]
                part_json.pop("metadata", None)  # signatures are for the provider
        message_json["info"].pop("system", None)
        messages_json.append(_scrubbed(message_json, scrub))
    return messages_json


def _add_failure_reason(part: ToolPart, part_json: dict[str, Any]) -> None:
    """Add the reason of a failed call to its metadata, since a cap may remove all of its output."""
    outcome = call_outcome(part)
    if outcome.status == "error" and outcome.reason:
        part_json["state"].setdefault("metadata", {})[FAILURE_LINE] = outcome.reason


def _cap_call(call_json: dict[str, Any], max_chars: int) -> int:
    """Shorten the texts of one call to ``max_chars`` characters; returns their length."""
    state = call_json["state"]
    call_json.pop("metadata", None)
    # Figures are outputs of the cell already.
    state["attachments"] = [
        {**attachment, "url": ""} for attachment in state.get("attachments", ())
    ]
    if not state["attachments"]:
        del state["attachments"]
    metadata = state.get("metadata") or {}
    state["metadata"] = {
        key: _shortened_value(value, max_chars if key in ("output", "diff") else MAX_METADATA_CHARS)
        for key, value in metadata.items()
    }
    arguments = state.get("input") or {}
    if len(json.dumps(arguments, ensure_ascii=False)) > max(max_chars // 2, 0):
        arguments = {
            key: _shortened_value(value, max_chars // (2 * len(arguments)))
            for key, value in arguments.items()
        }
    state["input"] = arguments
    used_chars = len(json.dumps(arguments, ensure_ascii=False))
    for key in ("output", "error", "raw"):
        if isinstance(state.get(key), str):
            state[key] = _shortened_value(state[key], max(max_chars - used_chars, 0))
            used_chars += len(state[key])
    return min(used_chars, max(max_chars, 0))


def _shortened_value(value: Any, max_chars: int) -> Any:
    """Return the head and tail of a long text; a note in place of a large value."""
    if isinstance(value, str):
        if len(value) <= max_chars:
            return value
        head_chars = max_chars * 2 // 3
        tail_chars = max_chars - head_chars
        return f"{value[:head_chars]}\n[{len(value) - max_chars} characters left out]\n{value[len(value) - tail_chars :]}"
    if len(json.dumps(value, ensure_ascii=False, default=str)) <= max(
        max_chars, MAX_METADATA_CHARS
    ):
        return value
    return "[left out]"


def _values_json(values: Sequence[Value], scrub: Scrub) -> list[Any]:
    return [_scrubbed(value.model_dump(mode="json", exclude_none=True), scrub) for value in values]


def _scrubbed(value: Any, scrub: Scrub) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {key: _scrubbed(item, scrub) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrubbed(item, scrub) for item in value]
    return value
