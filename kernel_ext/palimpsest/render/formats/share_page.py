"""Write a session as a page that can be given to others: one file that loads nothing.

Border: pure. The caller removes secrets, decides which attachments are included, and formats times;
the page comes in pieces, so that a session of any length needs no more memory than what is shown of its longest
turn. It looks like ``render/formats/html.py``, and has what a separate page needs too: a
head with facts, a list of the prompts, and reductions that open to show the whole output.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from palimpsest.render.content.css import LIGHT, PAGE
from palimpsest.render.content.outline import (
    Caps,
    OutlineCall,
    OutlineNotes,
    ReductionItem,
    Scrub,
    is_prompt,
)
from palimpsest.render.content.phrases import count, counted_noun, size_text
from palimpsest.render.content.work_rows import Row, TurnEnd, WorkRow
from palimpsest.render.formats.html import end_row, render_item, work_row
from palimpsest.render.formats.item_writer import MessageRows, NumberedMessage, in_turns, turn_rows
from palimpsest.render.safety.escaping import clean, in_html, line_in_html, one_line
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Attachment, FilePart
from palimpsest.transcript.values import Density, Todo

SHARE_CAPS = Caps(
    bytes_per_call=40_000,
    max_lines=400,
    read_only_lines=400,
    bytes_per_turn=4_000_000,
    bytes_per_text=400_000,
)
"""A page can fold its calls, so it shows more than a saved notebook."""

ANSWER_LEVEL = 3
"""Level of the heading above each answer."""
MAX_SUMMARY_CHARS = 2_000
"""Maximum characters of the model's summary of the session."""
MAX_PROMPT_CHARS = 120
"""Maximum characters of a prompt in the list of prompts."""
MAX_TODO_CHARS = 600
MAX_LINE_CHARS = 32
"""Maximum characters of a line that is assumed to fit into 280 pixels; a longer one is made scrollable, since a page
without scripts cannot measure."""
CELL_PADDING_CHARS = 3
"""Characters that the padding of a table cell is counted as."""
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_PRE = re.compile(r"(<pre)(\b[^>]*>)(.*?)</pre>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_HEADING = re.compile(r"<(?P<end>/?)h(?P<level>[3-6])>")
_TODO_SIGNS = {
    "pending": ("☐", "open"),
    "in_progress": ("◐", "in progress"),
    "completed": ("☑", "done"),
    "cancelled": ("☒", "cancelled"),
}

_RULES = """
.about { color: var(--muted); font-size: 13px; margin: 8px 0 0; max-width: 68ch; }
.summary { margin: 8px 0 0; max-width: 68ch; overflow-wrap: anywhere; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 8px 20px;
  margin: 16px 0 0; padding: 12px 0; border: solid var(--line); border-width: 1px 0; }
dl.facts dt { font-size: 12px; color: var(--muted); } dl.facts dd { margin: 0; color: var(--text);
  font-size: 13px; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; overflow-wrap: anywhere; text-wrap: balance; }
h2 { font-size: 14px; font-weight: 600; margin: 0; } .said h4 { font-size: 15px; }
nav, .todo { margin: 16px 0 0; font-size: 13px; }
nav summary, .todo summary { font-weight: 600; }
nav summary::before, .todo summary::before, .under > summary::before { content: "\\25B8\\00A0"; }
nav [open] > summary::before, .todo [open] > summary::before, .under[open] > summary::before {
  content: "\\25BE\\00A0"; }
nav ol, .todo ul { margin: 4px 0 0; padding-left: 28px; } nav li { padding: 2px 0; overflow-wrap: anywhere; }
nav a { text-decoration: none; } nav a:hover, nav a:focus-visible { text-decoration: underline; }
.todo ul { list-style: none; padding-left: 4px; } .todo .done { color: var(--muted); }
.prompt { margin-top: 40px; } .prompt h2 { color: var(--accent); font-size: 12px; }
.prompt h2 time, .prompt h2 a { font-weight: 400; color: var(--muted); margin-left: 8px; }
.answer > h3 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.said { overflow-wrap: anywhere; } .said :is(th, td) { overflow-wrap: normal; word-break: normal; }
.said > :is(table, .wide, pre) { margin: 8px 0; } .wide { overflow-x: auto; } .wide table { display: table; overflow: visible; max-width: none; }
.wide, pre { --ground: var(--page); --cover: 26px 100% local; --edge: 10px 100% scroll;
  background:
    linear-gradient(to right, var(--ground) 40%, transparent) 0 0 / var(--cover),
    linear-gradient(to left, var(--ground) 40%, transparent) 100% 0 / var(--cover),
    linear-gradient(to right, var(--more), transparent) 0 0 / var(--edge),
    linear-gradient(to left, var(--more), transparent) 100% 0 / var(--edge), var(--ground);
  background-repeat: no-repeat; }
pre { --ground: var(--code); } .call pre.output { --ground: var(--page); }
.wide, pre { --more: color-mix(in srgb, var(--text) 22%, transparent); }
.under { border: 1px dashed var(--scraped); border-radius: 6px; font-size: 13px;
  background: repeating-linear-gradient(135deg, transparent 0 7px, var(--strokes) 7px 8px); }
.under > summary { padding: 5px 12px; } .under > summary::before { color: var(--scraped); }
.under > pre { border-top: 1px dashed var(--scraped); border-radius: 0 0 6px 6px; }
.file { font-size: 13px; } .file pre { margin-top: 4px; }
figcaption { color: var(--muted); font-size: 12px; }
pre { tab-size: 4; } :is(pre, .wide):focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
footer { margin-top: 48px; padding-top: 12px; border-top: 1px solid var(--line); }
footer p { color: var(--muted); font-size: 12px; margin: 4px 0; max-width: 72ch; }
@media (max-width: 480px) {
  main, .head, footer { padding-left: 0; padding-right: 0; } h1 { font-size: 20px; }
  dl.facts { grid-template-columns: 1fr 1fr; gap: 8px 12px; } .answer { padding-left: 10px; }
  .row .subject { flex-basis: 45%; }
}
@media (forced-colors: active) { .wide, pre { animation: more linear; animation-timeline: scroll(self inline);
  border: 0 double CanvasText; } }
@keyframes more { 0%, 99% { border-right-width: 3px; } 100% { border-right-width: 0; } }
@media print {
  :root { LIGHT }
  details::details-content { content-visibility: visible; height: auto; opacity: 1; display: block; }
  summary::before, .time::after { content: none !important; }
  nav { display: none; } .call, .under { break-inside: auto; } figure { break-inside: avoid; }
  .row, h2 { break-after: avoid; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .prompt, .under, .strip { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""".replace("LIGHT", LIGHT.strip())

_PAGE_START = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
    " style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta name="color-scheme" content="light dark">\n'
    '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
)


@dataclass(frozen=True, slots=True)
class EmbeddedFile:
    """An attachment as the page includes it."""

    kind: Literal["picture", "text", "file", "left-out"]
    name: str
    mime: str
    content: str = ""
    """A ``data:`` URL, or the content of a text file."""
    omission_reason: str = ""
    """A sentence on why the file is left out or not complete; empty where it is whole."""


Embed = Callable[[Attachment | FilePart], EmbeddedFile]


@dataclass(frozen=True, slots=True)
class SharePageHead:
    """The content above the transcript."""

    title: str
    description: str
    """A sentence that describes the page."""
    summary: str = ""
    """A summary of the session, if a model wrote one."""
    facts: tuple[tuple[str, str], ...] = ()
    todos: tuple[Todo, ...] = ()
    prompts: Sequence[str] = ()
    """The beginning of each prompt, in order."""


def share_page(
    head: SharePageHead,
    messages: Iterable[Message],
    *,
    scrub: Scrub,
    embed: Embed,
    time_text: Callable[[int], str],
    notes: OutlineNotes | None = None,
    density: Density = "quiet",
    closing_lines: Callable[[], Sequence[str]] = tuple,
) -> Iterator[str]:
    """Yield the page in pieces, in order.

    ``time_text`` formats milliseconds; ``closing_lines`` is called last and returns the lines of the footer.
    """
    yield from _head_html(head, scrub)
    writer = _BodyWriter(scrub, embed, time_text)
    yield '<main id="transcript" aria-label="Transcript">\n'
    for turn in in_turns(messages, SHARE_CAPS):
        messages_without_files = writer.without_files(turn)
        rows = turn_rows(
            messages_without_files, scrub=scrub, notes=notes, density=density, is_whole=True
        )
        yield from map(writer.message_html, rows)
    yield "</main>\n<footer>\n"
    for sentence in closing_lines():
        yield f"<p>{line_in_html(sentence)}</p>\n"
    yield "</footer>\n</div>\n</body>\n</html>\n"


def _head_html(head: SharePageHead, scrub: Scrub) -> Iterator[str]:
    name = html.escape(one_line(scrub(head.title)) or "Session")
    style = PAGE.replace("\nmain {", "\n.page {", 1)
    yield f"{_PAGE_START}<title>{name}</title>\n<style>{style}{_RULES}</style>\n</head>\n<body>\n"
    yield f'<div class="page">\n<header>\n<h1>{name}</h1>\n<p class="about">{line_in_html(head.description)}</p>\n'
    facts = "".join(
        f"<div><dt>{line_in_html(scrub(key))}</dt><dd>{line_in_html(scrub(value))}</dd></div>"
        for key, value in head.facts
    )
    if summary := one_line(scrub(head.summary), MAX_SUMMARY_CHARS):
        yield f'<p class="summary">{in_html(summary)}</p>\n'
    yield f'<dl class="facts">{facts}</dl>\n</header>\n'
    if head.todos:
        yield _todo_html(head.todos, scrub)
    if head.prompts:
        yield '<nav aria-label="Prompts"><details><summary>'
        yield f"{counted_noun(len(head.prompts), 'prompt')}</summary>\n<ol>\n"
        for number, prompt in enumerate(head.prompts, start=1):
            title = line_in_html(one_line(scrub(prompt), MAX_PROMPT_CHARS)) or "Without words"
            yield f'<li><a href="#prompt-{number}">{title}</a></li>\n'
        yield "</ol></details></nav>\n"


def _todo_html(todos: Sequence[Todo], scrub: Scrub) -> str:
    done_count = sum(todo.status in ("completed", "cancelled") for todo in todos)
    rows = "".join(
        f'<li class="{"done" if todo.status in ("completed", "cancelled") else ""}">'
        f'<span role="img" aria-label="{_TODO_SIGNS[todo.status][1]}">{_TODO_SIGNS[todo.status][0]}</span> '
        f"{line_in_html(one_line(scrub(todo.content), MAX_TODO_CHARS))}</li>"
        for todo in todos
    )
    return (
        '<section class="todo" aria-label="Todo list"><details open>'
        f"<summary>Todo list: {done_count} of {len(todos)} done</summary><ul>{rows}</ul></details></section>\n"
    )


@dataclass(eq=False)
class _BodyWriter:
    """Writes messages as HTML, and counts the prompts."""

    _scrub: Scrub
    _embed: Embed
    _format_time: Callable[[int], str]
    _prompt_count: int = 0
    _files: dict[str, list[FilePart]] = field(default_factory=dict)
    """Attachments of messages that are still to be written, by the message's id."""

    def without_files(self, turn: Iterable[NumberedMessage]) -> Iterator[NumberedMessage]:
        """Yield messages without their attachments, which are written below them."""
        for message, caps, step in turn:
            files = [part for part in message.parts if isinstance(part, FilePart)]
            self._files[message.id] = files
            other_parts = tuple(part for part in message.parts if part not in files)
            yield message.model_copy(update={"parts": other_parts}), caps, step

    def message_html(self, message_rows: MessageRows) -> str:
        """Return one message as HTML; empty where there is nothing to show."""
        message, info = message_rows.message, message_rows.message.info
        pieces = [self._row_html(row) for row in message_rows.rows]
        pieces += [self._file_html(self._embed(file)) for file in self._files.pop(message.id, ())]
        pieces_html = "\n".join(filter(None, pieces))
        if not pieces_html:
            return ""
        if is_prompt(message):
            return f"{self._prompt_heading(info.time.created)}{pieces_html}\n</section>\n"
        label = "Summary" if info.role == "assistant" and info.summary else "Answer"
        return f'<section class="answer">\n<h3>{label}</h3>\n{pieces_html}\n</section>\n'

    def _prompt_heading(self, created_ms: int) -> str:
        self._prompt_count += 1
        time = html.escape(self._format_time(created_ms))
        return (
            f'<section class="prompt" id="prompt-{self._prompt_count}">\n'
            f"<h2>Prompt {count(self._prompt_count)}<time>{time}</time></h2>\n"
        )

    def _row_html(self, row: Row) -> str:
        if isinstance(row, WorkRow):
            return work_row(row, self._items_html(row))
        if isinstance(row, TurnEnd):
            return end_row(row, self._items_html(row))
        if not isinstance(row, OutlineCall):
            return _scrollable_html(_renumbered_headings(render_item(row)))
        figures = [self._file_html(self._embed(figure)) for figure in row.pictures]
        call = replace(row, pictures=(), reductions=(), record_hint=_omitted_text(row))
        sentences, reduced_output = row.reductions, ""
        if sentences and call.output is not None:
            reduced_output = _scrollable_html(_labelled_text(sentences[-1], call.output.text))
            sentences, call = sentences[:-1], replace(call, output=None)
        reductions = [render_item(ReductionItem(sentence)) for sentence in sentences]
        call_html = _scrollable_html(render_item(call))
        return "\n".join([call_html, *reductions, reduced_output, *figures]).strip()

    def _items_html(self, row: WorkRow | TurnEnd) -> str:
        return "\n".join(map(self._row_html, row.items))

    def _file_html(self, embedded_file: EmbeddedFile) -> str:
        name = line_in_html(one_line(self._scrub(embedded_file.name)) or "file")
        mime = line_in_html(one_line(embedded_file.mime))
        reason = line_in_html(embedded_file.omission_reason)
        note = f" {reason}" if reason else ""
        match embedded_file.kind:
            case "picture":
                return (
                    f'<figure><img src="{html.escape(embedded_file.content)}" alt="{name}" loading="lazy">'
                    f"<figcaption>{name}{note}</figcaption></figure>"
                )
            case "text":
                text = html.escape(clean(embedded_file.content))
                listing = _scrollable_html(f"<pre><code>{text}</code></pre>")
                return (
                    f'<details class="thought file"><summary>{name} ({mime}){note}</summary>'
                    f"{listing}</details>"
                )
            case "file":
                return (
                    f'<p class="file"><a href="{html.escape(embedded_file.content)}" download="{name}">'
                    f"{name}</a> ({mime}){note}</p>"
                )
            case "left-out":
                return f'<p class="muted">▤ {name} ({mime}): {reason}</p>'


def _omitted_text(call: OutlineCall) -> str:
    """Return a sentence on the omitted part of a call, without its path, which readers of the page cannot open."""
    left_out_bytes = sum(piece.left_out for piece in (call.input, call.output) if piece is not None)
    sentence = f"{size_text(left_out_bytes)} of this call are not on this page."
    return sentence if left_out_bytes else ""


def _labelled_text(label: str, text: str) -> str:
    return (
        f'<details class="under"><summary>{line_in_html(label)}</summary>'
        f"<pre><code>{html.escape(clean(text).strip(chr(10)))}</code></pre></details>"
    )


def _scrollable_html(content: str) -> str:
    """Return HTML in which code and tables that may be wider than a phone can be scrolled by keyboard, with a name."""
    wrapped_tables = _TABLE.sub(_boxed_table, content)
    return _PRE.sub(_focusable_code, wrapped_tables)


def _boxed_table(match: re.Match[str]) -> str:
    table = match[0]
    columns = zip(*(_longest_word_lengths(row) for row in table.split("</tr>")[:-1]), strict=False)
    is_wide = sum(max(column) + CELL_PADDING_CHARS for column in columns) > MAX_LINE_CHARS
    return f'<div class="wide" {_tab_stop("Table")}>{table}</div>' if is_wide else table


def _longest_word_lengths(row: str) -> list[int]:
    """Return the length of the longest word in each cell of a row."""
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
    words_by_cell = [html.unescape(_TAG.sub("", cell)).split() for cell in cells]
    return [max(map(len, cell), default=0) for cell in words_by_cell]


def _focusable_code(match: re.Match[str]) -> str:
    tag, attributes, text = match[1], match[2], match[3]
    lines = html.unescape(_TAG.sub("", text)).split("\n")
    if max(map(len, lines)) <= MAX_LINE_CHARS:
        return match[0]
    return f"{tag} {_tab_stop('Code')}{attributes}{text}</pre>"


def _tab_stop(name: str) -> str:
    return f'tabindex="0" role="group" aria-label="{name}"'


def _renumbered_headings(answer: str) -> str:
    """Return an answer whose headings start below the one above it and skip no level."""
    level = ANSWER_LEVEL

    def renumbered_tag(match: re.Match[str]) -> str:
        nonlocal level
        if match["end"]:
            return f"</h{level}>"
        level = max(ANSWER_LEVEL + 1, min(int(match["level"]), level + 1))
        return f"<h{level}>"

    return _HEADING.sub(renumbered_tag, answer)
