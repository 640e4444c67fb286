"""Write messages and sessions as Markdown that any viewer can show.

Border: pure. This is the ``text/markdown`` that GitHub, nbconvert and a JupyterLab without this package's
extension show, so it must be complete, safe even when it is trusted, and readable as source.

Every block starts at column 0: JupyterLab reads dollar signs as maths in indented and quoted
fences, so a call's code is not nested in a list or a quote.
"""

from collections.abc import Iterable
from dataclasses import replace

from palimpsest.render.content.excerpts import Excerpt, equals_line
from palimpsest.render.content.outline import (
    Item,
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
    gauge_bar,
    share_text,
    size_text,
    thought_text,
)
from palimpsest.render.content.work_rows import TurnEnd, WorkRow
from palimpsest.render.formats.item_writer import ItemWriter, joined_blocks
from palimpsest.render.safety.escaping import (
    code_block,
    code_element,
    code_span,
    escape_inline,
    one_line,
)
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.transcript.messages import Message

MAX_THOUGHT_CHARS = 240
"""Maximum characters of the one line that shows reasoning, since Markdown cannot collapse text."""


def _labelled_message(message: Message, body: str) -> str:
    return joined_blocks(["**Prompt**", body]) if is_prompt(message) else body


def _text_block(item: TextItem) -> str:
    note = f"*{size_text(item.left_out)} of text not shown here; all of it is kept in the session*"
    return joined_blocks([safe_markdown(item.text), note if item.left_out else ""])


def _reasoning_block(item: ReasoningItem) -> str:
    heading = thought_text(item.title, item.seconds)
    thought_line = one_line(item.text, MAX_THOUGHT_CHARS)
    return f"> *{heading}*" + (f" · {escape_inline(thought_line)}" if thought_line else "")


def _call_block(item: OutlineCall) -> str:
    row = [f"{CALL_SIGNS[item.status]} **{code_span(item.tool) or '`tool`'}**"]
    if item.subject:
        row.append(code_span(item.subject))
    if item.seconds is not None:
        row.append(duration(item.seconds))
    if item.status in ("pending", "running"):
        row.append("*running*" if item.status == "running" else "*being written*")
    if item.reason and not equals_line(item.output, item.reason):
        row.append(escape_inline(item.reason))
    if item.remark:
        row.append(f"*{escape_inline(item.remark)}*")
    question = f"> ◔ **Waiting for you:** {escape_inline(item.question)}" if item.question else ""
    return joined_blocks(
        [
            " · ".join(row),
            question,
            _excerpt_block(item.input),
            _excerpt_block(item.output),
            f"*{escape_inline(item.record_hint)}*" if item.record_hint else "",
            *(_reduction_line(sentence) for sentence in item.reductions),
        ]
    )


def _excerpt_block(excerpt: Excerpt | None) -> str:
    if excerpt is None or not excerpt.text.strip():
        return ""
    return code_block(excerpt.text, excerpt.language)


def _step_line(item: OutlineStep) -> str:
    row = f"*{escape_inline(item.summary)}*"
    if item.used_tokens is None or item.window is None:
        return row
    # The background of inline code shows what is free.
    bar = gauge_bar(item.used_tokens, item.window, free_sign="\u00a0")
    share = f"*{share_text(item.used_tokens, item.window)}*"
    return f"{row} · `{bar}` {share}" if bar else f"{row} · {share}"


def _reduction_line(sentence: str) -> str:
    return f"╌╌╌ ⧄ *{escape_inline(sentence)}* ╌╌╌"


def _notice_line(item: NoticeItem) -> str:
    lacks_full_stop = item.advice and item.sentence[-1:] not in ".!?…"
    sentence = escape_inline(item.sentence) + ("." if lacks_full_stop else "")
    emphasised_sentence = f"**{sentence}**" if item.tone == "error" else f"*{sentence}*"
    return f"{item.sign} {emphasised_sentence}" + (
        f" {escape_inline(item.advice)}" if item.advice else ""
    )


def _work_line(row: WorkRow) -> str:
    # Only names need escaping.
    words = (code_span(word.text) if word.is_name else word.text for word in row.word_list)
    return f"▸ {''.join(words)}"


def _opening_work(row: WorkRow) -> str:
    words = (code_element(word.text) if word.is_name else word.text for word in row.word_list)
    return _details_block("".join(words), row.items)


def _opening_turn_end(row: TurnEnd) -> str:
    hidden_items = [item for item in row.items if not isinstance(item, OutlineStep)]
    return (
        _details_block(row.step_figures.summary, hidden_items)
        if hidden_items
        else _step_line(row.step_figures)
    )


def _details_block(summary: str, items: Iterable[Item]) -> str:
    inside = WRITER.rows(items)
    return f"<details><summary>{summary}</summary>\n\n{inside}\n\n</details>"


WRITER = ItemWriter(
    _text_block,
    _reasoning_block,
    _call_block,
    _step_line,
    _reduction_line,
    _notice_line,
    _work_line,
    _labelled_message,
)
render_message = WRITER.message
render_turn = WRITER.turn
OPENING_WRITER = replace(WRITER, render_work=_opening_work, render_turn_end=_opening_turn_end)
"""Writes a row of work as a ``details`` element, which Markdown cells of a notebook can open."""
