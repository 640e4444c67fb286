"""Write parts, messages and sessions as plain text for a terminal.

Border: pure. Control and unseen characters are shown as escapes, so that no output of a tool can move the cursor,
change colours or retitle the window.
"""

from collections.abc import Iterable, Sequence

from palimpsest.render.content.excerpts import Excerpt, says_only
from palimpsest.render.content.outline import (
    Caps,
    Item,
    NoticeItem,
    OutlineCall,
    OutlineNotes,
    OutlineStep,
    ReasoningItem,
    ReductionItem,
    Scrub,
    TextItem,
    is_prompt,
    outline_message,
    outline_message_error,
    outline_parts,
)
from palimpsest.render.content.phrases import (
    SIGNS,
    duration,
    gauge_bar,
    share_text,
    size_text,
    thought_text,
)
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Part
from palimpsest.transcript.visible_text import visible, visible_line

TITLE_CHARS = 160


def render_parts(
    parts: Sequence[Part],
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> str:
    """Return parts as plain text."""
    shown = _showing(scrub)
    items = outline_parts(parts, caps=caps, scrub=shown, notes=notes, first_step=first_step)
    return _join(visible(_item(item)) for item in items)


def render_message(
    message: Message,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> str:
    """Return one message as plain text, with the error it ended in."""
    scrub = _showing(scrub)
    items = outline_message(message, caps=caps, scrub=scrub, notes=notes, first_step=first_step)
    body = _join(visible(_item(item)) for item in items)
    if is_prompt(message):
        return _indent(body, "> ")
    error = outline_message_error(message, scrub)
    return _join([body, visible(_item(error)) if error else ""])


def render_session(
    messages: Messages,
    title: str,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
) -> str:
    """Return a whole session as plain text; the turn's cap applies to each turn."""
    name = visible_line(scrub(title), TITLE_CHARS) or "Session"
    blocks = [f"{name}\n{'=' * len(name)}"]
    whole = caps or Caps()
    left, step = whole, 1
    for message in messages:
        if message.info.role == "user":
            left, step = whole, 1
        blocks.append(render_message(message, caps=left, scrub=scrub, notes=notes, first_step=step))
        left = left.after(message.parts)
        step += sum(part.type == "step-finish" for part in message.parts)
    return _join(blocks) + "\n"


def _showing(scrub: Scrub) -> Scrub:
    return lambda text: visible(scrub(text))


def _join(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block)


def _item(item: Item) -> str:
    match item:
        case TextItem():
            more = f"\n[{size_text(item.left_out)} of text not shown here]" if item.left_out else ""
            return item.text.strip("\n") + more
        case ReasoningItem():
            return _thought(item)
        case OutlineCall():
            return _call(item)
        case OutlineStep():
            return _step(item)
        case ReductionItem():
            return f"--- {item.words} ---"
        case NoticeItem():
            return f"{item.sign} {item.words}" + (f" {item.do}" if item.do else "")


def _thought(item: ReasoningItem) -> str:
    head = thought_text(item.title, item.seconds)
    # Reasoning is not shown in full; a text with a title is a summary, which is.
    return f"{head}\n{_indent(item.text.strip(), '  ')}" if item.title else head


def _call(item: OutlineCall) -> str:
    row = [f"{SIGNS[item.status]} {item.tool}", item.subject]
    row.append("" if item.seconds is None else duration(item.seconds))
    row.append("" if says_only(item.output, item.reason) else item.reason)
    row.append(item.remark or (item.status if item.status in ("pending", "running") else ""))
    lines = [" · ".join(cell for cell in row if cell)]
    if item.question:
        lines.append(f"  waiting for you: {item.question}")
    lines += [_piece(item.input, "  │ "), _piece(item.output, "    ")]
    lines += [f"  [{item.kept}]" if item.kept else "", *(f"  --- {s} ---" for s in item.reductions)]
    return "\n".join(line for line in lines if line)


def _piece(piece: Excerpt | None, margin: str) -> str:
    if piece is None or not piece.text.strip():
        return ""
    return _indent(piece.text.strip("\n"), margin)


def _indent(text: str, margin: str) -> str:
    return "\n".join((margin + line).rstrip() for line in text.split("\n"))


def _step(item: OutlineStep) -> str:
    if item.used is None or item.window is None:
        return item.words
    bar = gauge_bar(item.used, item.window)
    share = share_text(item.used, item.window)
    return f"{item.words} · {bar} {share}" if bar else f"{item.words} · {share}"
