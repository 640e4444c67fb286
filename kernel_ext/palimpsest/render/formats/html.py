"""Write messages as HTML without a style sheet: no script, no font, no network.

Border: pure. It looks as in the cell: a thin rule at the left of the agent's answers, tool calls
as rows that open, a dashed strip for each reduction. Calls open and close with ``details``,
so it works where scripts do not. All text of models, tools and users is escaped when written.
"""

import html
import re
from collections.abc import Iterable

from palimpsest.render.content.excerpts import Excerpt, equals_line
from palimpsest.render.content.outline import (
    Caps,
    NoticeItem,
    OutlineCall,
    OutlineStep,
    ReasoningItem,
    TextItem,
    is_prompt,
)
from palimpsest.render.content.phrases import (
    CALL_SIGNS,
    duration,
    share_text,
    size_text,
    thought_text,
)
from palimpsest.render.content.work_rows import TurnEnd, WorkRow
from palimpsest.render.formats.item_writer import ItemWriter, joined_blocks
from palimpsest.render.reports.gauge import gauge
from palimpsest.render.safety.escaping import clean, in_html, one_line
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Attachment

_PICTURE = re.compile(r"^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$")
PAGE_CAPS = Caps(read_only_lines=40)
"""Rows of calls that only read are closed here, so that more lines can be shown when opened."""
_TONES = {"completed": "good", "error": "bad", "waiting": "warm"}

HARD_SPACE = "\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h|kB|MB|tokens)\b)")


def _html(markdown: str) -> str:
    """Return Markdown as HTML; its parser is imported with the first text, which most sessions do not need."""
    from palimpsest.render.safety.markdown_to_html import to_html  # noqa: PLC0415 - see above

    return to_html(markdown)


def _join_blocks(blocks: Iterable[str]) -> str:
    return joined_blocks(blocks, "\n")


def _message_section(message: Message, body: str) -> str:
    kind = "prompt" if is_prompt(message) else "answer"
    return f'<section class="{kind}">\n{body}\n</section>' if body else ""


def _text_block(item: TextItem) -> str:
    omitted_note = (
        _muted_line(f"{size_text(item.left_out)} of text not shown here") if item.left_out else ""
    )
    return f'<div class="said" dir="auto">{_html(item.text)}{omitted_note}</div>'


def _reasoning_block(item: ReasoningItem) -> str:
    heading = thought_text(item.title, item.seconds)
    if not item.text.strip():
        return _muted_line(heading)
    return (
        f'<details class="thought"><summary>{heading}</summary>'
        f'<div class="said" dir="auto">{_html(item.text)}</div></details>'
    )


def _call(item: OutlineCall) -> str:
    time = "" if item.seconds is None else duration(item.seconds)
    reason = f'<span class="reason">{_escaped_words(item.reason)}</span>' if item.reason else ""
    state_texts = {"waiting": "waiting for you", "running": "running", "pending": "being written"}
    row = (
        f'<span class="sign {_TONES.get(item.status, "")}" title="{item.status}">'
        f'{CALL_SIGNS[item.status]}</span> <b class="name">{_escaped_words(item.tool)}</b> '
        f'<span class="subject">{_escaped_words(item.subject)}</span>'
        f'{reason}<span class="remark">{_escaped_words(item.remark)}</span>'
        f'<span class="time">{state_texts.get(item.status, time)}</span>'
    )
    body = _join_blocks(
        [
            f'<p class="ask">{_escaped_words(item.question)}</p>' if item.question else "",
            _piece(item.input, "input"),
            ""
            if item.reason and equals_line(item.output, item.reason)
            else _piece(item.output, "output"),
            f'<p class="kept">{_escaped_words(item.record_hint)}</p>' if item.record_hint else "",
        ]
    )
    figures_and_reductions = _join_blocks(
        [*(_figure(figure) for figure in item.pictures), *(_strip(s) for s in item.reductions)]
    )
    tone = {"waiting": " waiting", "error": " failed"}.get(item.status, "")
    if not body:
        return _join_blocks(
            [f'<div class="call{tone}"><div class="row">{row}</div></div>', figures_and_reductions]
        )
    open_attribute = " open" if item.status == "waiting" else ""
    return _join_blocks(
        [
            f'<details class="call{tone}"{open_attribute}><summary class="row">{row}</summary>{body}</details>',
            figures_and_reductions,
        ]
    )


def _piece(piece: Excerpt | None, kind: str) -> str:
    if piece is None or not piece.text.strip():
        return ""
    text = clean(piece.text).strip("\n")
    code_html = _diff(text) if piece.language == "diff" else html.escape(text)
    return f'<pre class="{kind}"><code>{code_html}</code></pre>'


def _diff(text: str) -> str:
    classes = {"+": "added", "-": "removed", "@": "place"}
    return "\n".join(
        f'<span class="{classes[line[0]]}">{html.escape(line)}</span>'
        if line[:1] in classes
        else html.escape(line)
        for line in text.split("\n")
    )


def _figure(figure: Attachment) -> str:
    name = _escaped_words(figure.filename or "figure")
    if _PICTURE.match(figure.url):
        return f'<figure><img src="{html.escape(figure.url)}" alt="{name}"></figure>'
    return _muted_line(f"{figure.filename or 'file'} ({figure.mime})")


def _step(item: OutlineStep) -> str:
    return f'<p class="step">{_figures_html(item)}</p>'


def _figures_html(item: OutlineStep) -> str:
    facts = (fact.replace(" ", HARD_SPACE) for fact in _escaped_words(item.summary).split(" · "))
    line = f"<span>{f'{HARD_SPACE}· '.join(facts)}</span>"
    if item.used_tokens is not None and item.window is not None:
        bar = f" {gauge(item.used_tokens, item.window)}" if item.window else ""
        line += f"{bar} <span>{_escaped_words(share_text(item.used_tokens, item.window))}</span>"
    return line


def _strip(text: str) -> str:
    return f'<p class="strip">{_with_hard_units(text)}</p>'


def _notice(item: NoticeItem) -> str:
    advice = f" <span>{_escaped_words(item.advice)}</span>" if item.advice else ""
    return (
        f'<p class="notice {"bad" if item.tone == "error" else "muted"}">'
        f'<span class="sign">{_escaped_words(item.sign)}</span> <b>{_with_hard_units(item.sentence)}</b>{advice}</p>'
    )


def work_row(row: WorkRow, inner_html: str) -> str:
    """Return a row of work that opens to its folded items."""
    sentence = "".join(
        f'<b class="name">{_escaped_words(word.text)}</b>'
        if word.is_name
        else html.escape(word.text)
        for word in row.word_list
    )
    return f'<details class="work"><summary>{sentence}</summary>\n{inner_html}\n</details>'


def _work(row: WorkRow) -> str:
    return work_row(row, _WRITER.rows(row.items))


def end_row(row: TurnEnd, inner_html: str) -> str:
    """Return the line below a turn, which opens to the steps and short thoughts without a row."""
    if not inner_html:
        return _step(row.step_figures)
    return (
        f'<details class="work end"><summary class="step">{_figures_html(row.step_figures)}</summary>\n'
        f"{inner_html}\n</details>"
    )


def _turn_end_html(row: TurnEnd) -> str:
    return end_row(row, _WRITER.rows(row.items))


def _muted_line(text: str) -> str:
    return f'<p class="muted">{_escaped_words(text)}</p>'


def _with_hard_units(text: str) -> str:
    """Return escaped text in which no line breaks between a number and its unit."""
    return _UNIT.sub(HARD_SPACE, _escaped_words(text))


def _escaped_words(text: str) -> str:
    return in_html(one_line(text, 600))


_WRITER = ItemWriter(
    _text_block,
    _reasoning_block,
    _call,
    _step,
    _strip,
    _notice,
    _work,
    _turn_end_html,
    _message_section,
    separator="\n",
    default_caps=PAGE_CAPS,
)
render_item = _WRITER.render_row
render_message = _WRITER.message
render_turns = _WRITER.messages
