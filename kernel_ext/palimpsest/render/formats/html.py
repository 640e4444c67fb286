"""Write messages as HTML without a style sheet: no script, no font, no network.

Border: pure. It looks as in the cell: a thin rule at the left of the agent's answers, tool calls
as rows that open, a dashed strip for each reduction. Calls open and close with ``details``,
so it works where scripts do not. All text of models, tools and users is escaped when written.
"""

import html
import re

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
    count,
    duration,
    share_text,
    size_text,
    thought_text,
)
from palimpsest.render.content.work_rows import TurnEnd, WorkRow
from palimpsest.render.formats.item_writer import ItemWriter, joined_blocks
from palimpsest.render.safety.escaping import clean, line_in_html
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Attachment

_PICTURE = re.compile(r"^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$")
PAGE_CAPS = Caps(read_only_lines=40)
"""Rows of calls that only read are closed here, so that more lines can be shown when opened."""
_TONES = {"completed": "good", "error": "bad", "waiting": "warm"}

GAUGE_WIDTH, GAUGE_HEIGHT = 176, 6
"""Pixels of the gauge of the context window."""
HARD_SPACE = "\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=(?:s|min|h|kB|MB|tokens)\b)")


def _html(markdown: str) -> str:
    """Return Markdown as HTML; its parser is imported with the first text, which most sessions do not need."""
    from palimpsest.render.safety.markdown_to_html import to_html  # noqa: PLC0415 - see above

    return to_html(markdown)


def _message_section(message: Message, body: str) -> str:
    kind = "prompt" if is_prompt(message) else "answer"
    return f'<section class="{kind}">\n{body}\n</section>' if body else ""


def _text_block(item: TextItem) -> str:
    note = f"{size_text(item.left_out)} of text not shown here"
    omitted_note = _muted_line(note) if item.left_out else ""
    return f'<div class="said" dir="auto">{_html(item.text)}{omitted_note}</div>'


def _reasoning_block(item: ReasoningItem) -> str:
    heading = thought_text(item.title, item.seconds)
    if not item.text.strip():
        return _muted_line(heading)
    return (
        f'<details class="thought"><summary>{heading}</summary>'
        f'<div class="said" dir="auto">{_html(item.text)}</div></details>'
    )


def _call_html(item: OutlineCall) -> str:
    time = "" if item.seconds is None else duration(item.seconds)
    reason = f'<span class="reason">{line_in_html(item.reason)}</span>' if item.reason else ""
    state_texts = {"waiting": "waiting for you", "running": "running", "pending": "being written"}
    row = (
        f'<span class="sign {_TONES.get(item.status, "")}" title="{item.status}">'
        f'{CALL_SIGNS[item.status]}</span> <b class="name">{line_in_html(item.tool)}</b> '
        f'<span class="subject">{line_in_html(item.subject)}</span>'
        f'{reason}<span class="remark">{line_in_html(item.remark)}</span>'
        f'<span class="time">{state_texts.get(item.status, time)}</span>'
    )
    has_own_output = not (item.reason and equals_line(item.output, item.reason))
    blocks = [
        f'<p class="ask">{line_in_html(item.question)}</p>' if item.question else "",
        _excerpt_html(item.input, "input"),
        _excerpt_html(item.output, "output") if has_own_output else "",
        f'<p class="kept">{line_in_html(item.record_hint)}</p>' if item.record_hint else "",
    ]
    body = joined_blocks(blocks, "\n")
    tone_class = {"waiting": " waiting", "error": " failed"}.get(item.status, "")
    if body:
        open_attribute = " open" if item.status == "waiting" else ""
        call_html = f'<details class="call{tone_class}"{open_attribute}><summary class="row">{row}</summary>{body}</details>'
    else:
        call_html = f'<div class="call{tone_class}"><div class="row">{row}</div></div>'
    figures = map(_figure_html, item.pictures)
    return joined_blocks([call_html, *figures, *map(_reduction_line, item.reductions)], "\n")


def _excerpt_html(excerpt: Excerpt | None, kind: str) -> str:
    if excerpt is None or not excerpt.text.strip():
        return ""
    text = clean(excerpt.text).strip("\n")
    code_html = _diff_html(text) if excerpt.language == "diff" else html.escape(text)
    return f'<pre class="{kind}"><code>{code_html}</code></pre>'


def _diff_html(text: str) -> str:
    classes = {"+": "added", "-": "removed", "@": "place"}
    return "\n".join(
        f'<span class="{classes[line[0]]}">{html.escape(line)}</span>'
        if line[:1] in classes
        else html.escape(line)
        for line in text.split("\n")
    )


def _figure_html(figure: Attachment) -> str:
    name = line_in_html(figure.filename or "figure")
    if _PICTURE.match(figure.url):
        return f'<figure><img src="{html.escape(figure.url)}" alt="{name}"></figure>'
    return _muted_line(f"{figure.filename or 'file'} ({figure.mime})")


def _step_line(item: OutlineStep) -> str:
    return f'<p class="step">{_figures_html(item)}</p>'


def _figures_html(item: OutlineStep) -> str:
    facts = (fact.replace(" ", HARD_SPACE) for fact in line_in_html(item.summary).split(" · "))
    line_html = f"<span>{f'{HARD_SPACE}· '.join(facts)}</span>"
    if item.used_tokens is not None and item.window is not None:
        bar = f" {gauge(item.used_tokens, item.window)}" if item.window else ""
        line_html += f"{bar} <span>{line_in_html(share_text(item.used_tokens, item.window))}</span>"
    return line_html


def gauge(used_tokens: int, window: int) -> str:
    """Return the window as one bar in SVG, filled by the tokens that are used; its title says so in words."""
    window, used_tokens = max(window, 1), max(used_tokens, 0)
    used_text = f": used {count(used_tokens)}" if used_tokens else ""
    label = html.escape(f"{share_text(used_tokens, window)} tokens used{used_text}")
    used_width = used_tokens * GAUGE_WIDTH / max(window, used_tokens)
    filled_bar = _gauge_bar(used_width, "used") if used_tokens else ""
    return (
        f'<svg class="gauge" role="img" width="{GAUGE_WIDTH}" height="{GAUGE_HEIGHT}"'
        f' viewBox="0 0 {GAUGE_WIDTH} {GAUGE_HEIGHT}" aria-label="{label}"><title>{label}</title>'
        f"{_gauge_bar(GAUGE_WIDTH, 'free')}{filled_bar}</svg>"
    )


def _gauge_bar(width: float, kind: str) -> str:
    return (
        f'<rect x="0.00" y="0" width="{width:.2f}" height="{GAUGE_HEIGHT}" fill="var(--{kind})"/>'
    )


def _reduction_line(text: str) -> str:
    return f'<p class="strip">{_with_hard_units(text)}</p>'


def _notice_line(item: NoticeItem) -> str:
    advice = f" <span>{line_in_html(item.advice)}</span>" if item.advice else ""
    return (
        f'<p class="notice {"bad" if item.tone == "error" else "muted"}">'
        f'<span class="sign">{line_in_html(item.sign)}</span> <b>{_with_hard_units(item.sentence)}</b>{advice}</p>'
    )


def work_row(row: WorkRow, inner_html: str) -> str:
    """Return a row of work that opens to its folded items."""
    sentence = "".join(
        f'<b class="name">{line_in_html(word.text)}</b>' if word.is_name else html.escape(word.text)
        for word in row.word_list
    )
    return f'<details class="work"><summary>{sentence}</summary>\n{inner_html}\n</details>'


def end_row(row: TurnEnd, inner_html: str) -> str:
    """Return the line below a turn, which opens to the steps and short thoughts without a row."""
    if not inner_html:
        return _step_line(row.step_figures)
    return (
        f'<details class="work end"><summary class="step">{_figures_html(row.step_figures)}</summary>\n'
        f"{inner_html}\n</details>"
    )


def _muted_line(text: str) -> str:
    return f'<p class="muted">{line_in_html(text)}</p>'


def _with_hard_units(text: str) -> str:
    """Return escaped text in which no line breaks between a number and its unit."""
    return _UNIT.sub(HARD_SPACE, line_in_html(text))


_WRITER: ItemWriter = ItemWriter(
    _text_block,
    _reasoning_block,
    _call_html,
    _step_line,
    _reduction_line,
    _notice_line,
    lambda row: work_row(row, _WRITER.rows(row.items)),
    _message_section,
    lambda row: end_row(row, _WRITER.rows(row.items)),
    separator="\n",
    default_caps=PAGE_CAPS,
)
render_item = _WRITER.render_row
render_message = _WRITER.message
render_turn = _WRITER.turn
