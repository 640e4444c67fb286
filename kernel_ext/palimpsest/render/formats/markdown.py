"""Write parts, messages and sessions as Markdown that needs no front end of ours.

Border: pure. This is the ``text/markdown`` that GitHub, nbconvert and a JupyterLab without our
extension show, so it must be complete and safe when it is trusted, and read well as source.

Every block starts at column 0: JupyterLab reads dollar signs as maths in indented and quoted
fences, so a call's code is not nested in a list or a quote.
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
from palimpsest.render.safety.escaping import code_block, code_span, inline, one_line
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Part

THOUGHT_CHARS = 240
"""Length of the one muted line that shows reasoning, since Markdown cannot fold."""


def render_parts(
    parts: Sequence[Part],
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> str:
    """Return parts as Markdown; the same parts give the same text."""
    items = outline_parts(parts, caps=caps, scrub=scrub, notes=notes, first_step=first_step)
    return _join(_item(item) for item in items)


def render_message(
    message: Message,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
    first_step: int = 1,
) -> str:
    """Return one message as Markdown, with the error it ended in."""
    items = outline_message(message, caps=caps, scrub=scrub, notes=notes, first_step=first_step)
    body = _join(_item(item) for item in items)
    if is_prompt(message):
        return _join(["**Prompt**", body])
    error = outline_message_error(message, scrub)
    return _join([body, _item(error) if error else ""])


def render_session(
    messages: Messages,
    title: str,
    *,
    caps: Caps | None = None,
    scrub: Scrub = str,
    notes: OutlineNotes | None = None,
) -> str:
    """Return a whole session as one Markdown document; the turn's cap applies to each turn."""
    blocks = [f"# {inline(scrub(title)) or 'Session'}"]
    whole = caps or Caps()
    left, step = whole, 1
    for message in messages:
        if message.info.role == "user":
            left, step = whole, 1
        blocks.append(render_message(message, caps=left, scrub=scrub, notes=notes, first_step=step))
        left = left.after(message.parts)
        step += sum(part.type == "step-finish" for part in message.parts)
    return _join(blocks) + "\n"


def _join(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block)


def _item(item: Item) -> str:
    match item:
        case TextItem():
            return _join([safe_markdown(item.text), _left_out(item.left_out)])
        case ReasoningItem():
            return _thought(item)
        case OutlineCall():
            return _call(item)
        case OutlineStep():
            return _step(item)
        case ReductionItem():
            return _strip(item.words)
        case NoticeItem():
            return _notice(item)


def _thought(item: ReasoningItem) -> str:
    head = thought_text(item.title, item.seconds)
    words = one_line(item.text, THOUGHT_CHARS)
    return f"> *{head}*" + (f" · {inline(words)}" if words else "")


def _call(item: OutlineCall) -> str:
    row = [f"{SIGNS[item.status]} **{code_span(item.tool) or '`tool`'}**"]
    if item.subject:
        row.append(code_span(item.subject))
    if item.seconds is not None:
        row.append(duration(item.seconds))
    if item.status in ("pending", "running"):
        row.append("*running*" if item.status == "running" else "*being written*")
    if item.reason and not says_only(item.output, item.reason):
        row.append(inline(item.reason))
    if item.remark:
        row.append(f"*{inline(item.remark)}*")
    question = f"> ◔ **Waiting for you:** {inline(item.question)}" if item.question else ""
    return _join(
        [
            " · ".join(row),
            question,
            _piece(item.input),
            _piece(item.output),
            f"*{inline(item.kept)}*" if item.kept else "",
            *(_strip(words) for words in item.reductions),
        ]
    )


def _piece(piece: Excerpt | None) -> str:
    return code_block(piece.text, piece.language) if piece and piece.text.strip() else ""


def _step(item: OutlineStep) -> str:
    row = f"*{inline(item.words)}*"
    if item.used is None or item.window is None:
        return row
    bar = gauge_bar(item.used, item.window, free="\u00a0")  # the code's tint shows what is free
    share = f"*{share_text(item.used, item.window)}*"
    return f"{row} · `{bar}` {share}" if bar else f"{row} · {share}"


def _strip(words: str) -> str:
    return f"╌╌╌ ⧄ *{inline(words)}* ╌╌╌"


def _notice(item: NoticeItem) -> str:
    words = inline(item.words) + ("." if item.do and item.words[-1:] not in ".!?…" else "")
    shown = f"**{words}**" if item.tone == "error" else f"*{words}*"
    return f"{item.sign} {shown}" + (f" {inline(item.do)}" if item.do else "")


def _left_out(number: int) -> str:
    return (
        f"*{size_text(number)} of text not shown here; all of it is kept in the session*"
        if number
        else ""
    )
