"""Write messages and sessions as plain text for a terminal.

Border: pure. Control and invisible characters are shown as escapes, so that no output of a tool can move the cursor,
change colours or retitle the window.
"""

from palimpsest.render.content.excerpts import Excerpt, equals_line
from palimpsest.render.content.outline import (
    Caps,
    NoticeItem,
    OutlineCall,
    OutlineNotes,
    OutlineStep,
    ReasoningItem,
    Scrub,
    TextItem,
    is_prompt,
)
from palimpsest.render.content.phrases import (
    CALL_SIGNS,
    duration,
    gauge_bar,
    share_text,
    size_text,
    thought_text,
)
from palimpsest.render.formats.item_writer import ItemWriter, in_turns, joined_blocks
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.values import Density
from palimpsest.transcript.visible_text import visible_line, visible_text

MAX_TITLE_CHARS = 160


def render_session(
    messages: Messages,
    title: str,
    *,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    density: Density = "quiet",
) -> str:
    """Return a session as plain text; the turn's cap applies to each turn."""
    name = visible_line(scrub(title), MAX_TITLE_CHARS) or "Session"
    turns = (
        WRITER.turn(turn, scrub=scrub, notes=notes, density=density, is_whole=True)
        for turn in in_turns(messages, Caps())
    )
    return joined_blocks([f"{name}\n{'=' * len(name)}", *turns]) + "\n"


def _quoted_prompt(message: Message, body: str) -> str:
    return _indented_text(body, "> ") if is_prompt(message) else body


def _text_lines(item: TextItem) -> str:
    omitted_note = f"\n[{size_text(item.left_out)} of text not shown here]" if item.left_out else ""
    return item.text.strip("\n") + omitted_note


def _notice_line(item: NoticeItem) -> str:
    return f"{item.sign} {item.sentence}" + (f" {item.advice}" if item.advice else "")


def _reasoning_lines(item: ReasoningItem) -> str:
    heading = thought_text(item.title, item.seconds)
    # Reasoning is not shown in full; a text with a title is a summary, which is.
    return f"{heading}\n{_indented_text(item.text.strip(), '  ')}" if item.title else heading


def _call_lines(item: OutlineCall) -> str:
    row = [f"{CALL_SIGNS[item.status]} {item.tool}", item.subject]
    row.append("" if item.seconds is None else duration(item.seconds))
    row.append("" if equals_line(item.output, item.reason) else item.reason)
    row.append(item.remark or (item.status if item.status in ("pending", "running") else ""))
    lines = [" · ".join(cell for cell in row if cell)]
    if item.question:
        lines.append(f"  waiting for you: {item.question}")
    lines += [_excerpt_lines(item.input, "  │ "), _excerpt_lines(item.output, "    ")]
    if item.record_hint:
        lines.append(f"  [{item.record_hint}]")
    lines += [f"  --- {sentence} ---" for sentence in item.reductions]
    return "\n".join(line for line in lines if line)


def _excerpt_lines(excerpt: Excerpt | None, margin: str) -> str:
    if excerpt is None or not excerpt.text.strip():
        return ""
    return _indented_text(excerpt.text.strip("\n"), margin)


def _indented_text(text: str, margin: str) -> str:
    return "\n".join((margin + line).rstrip() for line in text.split("\n"))


def _step_line(item: OutlineStep) -> str:
    if item.used_tokens is None or item.window is None:
        return item.summary
    bar = gauge_bar(item.used_tokens, item.window)
    share = share_text(item.used_tokens, item.window)
    return f"{item.summary} · {bar} {share}" if bar else f"{item.summary} · {share}"


WRITER = ItemWriter(
    _text_lines,
    _reasoning_lines,
    _call_lines,
    _step_line,
    "--- {} ---".format,
    _notice_line,
    lambda row: f"▸ {row.text}",
    _quoted_prompt,
    make_visible=visible_text,
)
render_message = WRITER.message
