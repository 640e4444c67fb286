"""Write one segment as a MIME bundle: for our front end, for any other, and for a terminal.

Border: pure; a segment goes in, the three formats come out, capped and scrubbed. The notebook is
a document that leaves this machine, so it may hold no secret, and no tool output may fill it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from palimpsest.frontends.protocol.page_records import with_sentence
from palimpsest.frontends.protocol.segments import SegmentCut
from palimpsest.frontends.turn_output.file_changes import changed_text, saved_changes, turn_changes
from palimpsest.frontends.turn_output.segments import Segment, slices
from palimpsest.render.content.outline import Caps, OutlineNotes
from palimpsest.render.content.turn_figures import figures_item
from palimpsest.render.formats import markdown, text
from palimpsest.render.formats.item_writer import ItemWriter, joined, numbered
from palimpsest.render.safety.escaping import inline
from palimpsest.session.engine import Snapshot
from palimpsest.transcript.call_outcomes import FAILURE_LINE, call_outcome
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.session_record.reverts import FileDiff
from palimpsest.transcript.values import Ask, Density, Value
from palimpsest.transcript.visible_text import visible

MIME = "application/vnd.palimpsest.segment+json"
SEGMENT_VERSION = 1
REASONING_CHARS = 2_000
"""How much of one reasoning part the notebook keeps; the session keeps all of it."""
LINE_CHARS = 400
"""Longest value of a tool's metadata in the notebook."""

Scrub = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Frame:
    """The facts about its turn that every segment contains."""

    session: str
    turn: str
    seq: tuple[int, int]
    asks: tuple[Ask, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    status: str = ""
    """A line of Markdown under an open segment: what the agent waits for."""
    mode: str = ""
    """The permission mode; empty for ``ask``."""
    changes: tuple[FileDiff, ...] = ()
    """The turn's file changes, once it is over."""
    density: Density = "quiet"
    """What is shown of it, unless its reader chose otherwise."""


def bundle(
    messages: Sequence[Message],
    segment: Segment,
    frame: Frame,
    *,
    notes: OutlineNotes,
    scrub: Scrub,
) -> dict[str, Any]:
    """Return the MIME bundle of one segment."""
    scrub = cache(scrub)  # the three formats hold the same texts
    shown = list(slices(messages, segment))
    open_ = segment.end is None and bool(frame.status)
    status = frame.status if open_ else ""
    changes = frame.changes if segment.end is None else ()
    # Shown once, where the turn begins.
    is_first = segment.start.part == 0 and segment.start.offset == 0
    above = f"*Permission mode: {inline(frame.mode)}*" if frame.mode and is_first else ""
    below = status or (f"*{inline(changed_text(changes))}*" if changes else "")
    figures = None if open_ or segment.end is not None else figures_item(messages)

    def told(writer: ItemWriter) -> str:
        turn = numbered(shown, segment.caps, segment.first_step)
        rows = writer.turn(turn, scrub=scrub, notes=notes, density=frame.density, live=open_)
        own = figures if frame.density == "quiet" else None
        return joined([rows, writer.step(own) if own is not None else ""])

    return {
        MIME: {
            "version": SEGMENT_VERSION,
            "session": frame.session,
            "turn": frame.turn,
            "seq": list(frame.seq),
            "open": open_,
            "messages": _json(shown, segment.caps, scrub),
            "asks": _wire(frame.asks, scrub),
            "questions": _wire(frame.questions, scrub),
            "replies": _scrubbed(_replies(shown, notes), scrub),
            "decisions": _wire(_decisions(shown, notes), scrub),
            "changes": _scrubbed(saved_changes(changes), scrub),
            "first_step": segment.first_step,
            "density": frame.density,
            **({"mode": frame.mode} if frame.mode else {}),
            "status": status,
            "start": _place(segment.start, segment.start.joint),
            "end": _place(segment.end, segment.tail),
        },
        "text/markdown": joined([above, told(markdown.WRITER), below]),
        "text/plain": visible(joined([above.strip("*"), told(text.WRITER), below.strip("*")])),
    }


def shown_mode(snapshot: Snapshot) -> str:
    """Return the session's permission mode; empty for ``ask``."""
    mode = snapshot.session.mode if snapshot.session is not None else None
    return mode if mode is not None and mode != "ask" else ""


def ended_frame(
    session: str, turn: str, snapshot: Snapshot, first_seq: int, density: Density
) -> Frame:
    """Return the facts about a turn that is over."""
    return Frame(
        session,
        turn,
        seq=(first_seq, snapshot.seq),
        mode=shown_mode(snapshot),
        changes=turn_changes(snapshot.messages, turn),
        density=density,
    )


def _place(position: SegmentCut | None, joint: str) -> list[Any] | None:
    """Return where a segment is cut, so that a page can cut the messages it has in the same place."""
    return None if position is None else [position.part, position.offset, joint]


def status_line(words: str) -> str:
    """Return plain text as the Markdown line under an open segment."""
    return f"*{inline(words)}*" if words else ""


def _replies(shown: Sequence[Message], notes: OutlineNotes) -> dict[str, Any]:
    """Return what a person answered, by the id of the tool call."""
    calls = [part for message in shown for part in message.parts if isinstance(part, ToolPart)]
    answered = [(part.call_id, notes.asked(part)[1]) for part in calls]
    return {
        call_id: reply.model_dump(mode="json", exclude_none=True)
        for call_id, reply in answered
        if reply is not None
    }


def _decisions(shown: Sequence[Message], notes: OutlineNotes) -> list[Decision]:
    """Return the decisions about these parts and messages, each with its sentence."""
    messages = {message.id for message in shown}
    parts = {part.id for message in shown for part in message.parts}
    return [
        with_sentence(one)
        for one in notes.decisions
        if (one.message_id in messages if one.part_id is None else one.part_id in parts)
    ]


def _json(shown: Sequence[Message], caps: Caps, scrub: Scrub) -> list[dict[str, Any]]:
    """Return the messages as JSON values, tool texts within what is left of the turn's cap."""
    room = caps.turn
    found = []
    for message in shown:
        data = message.model_dump(mode="json", exclude_none=True)
        for whole, part in zip(message.parts, data["parts"], strict=True):
            if isinstance(whole, ToolPart):
                _keep_reason(whole, part)
                room -= _cap_call(part, min(caps.call, room))
            elif part["type"] == "reasoning":
                part["text"] = part["text"][:REASONING_CHARS]
                part.pop("metadata", None)  # signatures are for the provider
        data["info"].pop("system", None)
        found.append(_scrubbed(data, scrub))
    return found


def _keep_reason(whole: ToolPart, part: dict[str, Any]) -> None:
    """Write why a call failed beside its output, of which a cap may leave nothing."""
    outcome = call_outcome(whole)
    if outcome.status == "error" and outcome.reason:
        part["state"].setdefault("metadata", {})[FAILURE_LINE] = outcome.reason


def _cap_call(part: dict[str, Any], room: int) -> int:
    """Shorten the texts of one call to ``room`` characters; returns how many they take."""
    state = part["state"]
    part.pop("metadata", None)
    state["attachments"] = [
        {**one, "url": ""} for one in state.get("attachments", ())
    ]  # figures are outputs of the cell already
    if not state["attachments"]:
        del state["attachments"]
    metadata = state.get("metadata") or {}
    state["metadata"] = {
        key: _shortened(value, room if key in ("output", "diff") else LINE_CHARS)
        for key, value in metadata.items()
    }
    used = 0
    given = state.get("input") or {}
    if len(json.dumps(given, ensure_ascii=False)) > max(room // 2, 0):
        given = {key: _shortened(value, room // (2 * len(given))) for key, value in given.items()}
    state["input"] = given
    used += len(json.dumps(given, ensure_ascii=False))
    for key in ("output", "error", "raw"):
        if isinstance(state.get(key), str):
            state[key] = _shortened(state[key], max(room - used, 0))
            used += len(state[key])
    return min(used, max(room, 0))


def _shortened(value: Any, longest: int) -> Any:
    """Keep head and tail of a long text; replace a large value by a note that it was left out."""
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        head = longest * 2 // 3
        tail = longest - head
        return f"{value[:head]}\n[{len(value) - longest} characters left out]\n{value[len(value) - tail :] if tail else ''}"
    if len(json.dumps(value, ensure_ascii=False, default=str)) <= max(longest, LINE_CHARS):
        return value
    return "[left out]"


def _wire(values: Sequence[Value], scrub: Scrub) -> list[Any]:
    """Return values as JSON values without secrets."""
    return [_scrubbed(one.model_dump(mode="json", exclude_none=True), scrub) for one in values]


def _scrubbed(value: Any, scrub: Scrub) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {key: _scrubbed(one, scrub) for key, one in value.items()}
    if isinstance(value, list):
        return [_scrubbed(one, scrub) for one in value]
    return value
