"""The model's Markdown as HTML that is safe by how it is made.

Border: pure. Every character of the text is escaped when it is written; the only tags are those
of this module. It knows what models write: headings, lists, tables, quotes, code, emphasis and
links. What it does not know stays as words, and pictures become links.
"""

import html
import re
from collections.abc import Iterator

from palimpsest.render.safety.allowed_elements import may_lead
from palimpsest.render.safety.escaping import clean, in_html
from palimpsest.render.safety.safe_markdown import read_by_browser

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_HEADING = re.compile(r"^ {0,3}(?P<level>#{1,6})[ \t]+(?P<words>.*?)[ \t]*#*$")
_RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_ITEM = re.compile(r"^(?P<indent> *)(?P<mark>[-+*]|\d{1,9}[.)])(?P<gap>[ \t]+|$)(?P<rest>.*)$")
_TABLE_LINE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL = re.compile(r"(?<!\\)\|")
_DEEPEST = 6
_LONGEST = 20_000
"""Characters of one paragraph; a longer one is shown without emphasis."""
_INLINE = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?P<body>.+?)(?<!`)(?P=ticks)(?!`))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|!?\[(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\((?P<to>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s+\"[^\"\n]*\")?\)"
    r"|(?P<bare>https?://[^\s<>()\[\]`*\"']+[^\s<>()\[\]`*\"'.,;:!?])"
    r"|(?P<maths>\$\$[^$`]+?\$\$|(?<![\\$\w])\$(?=[^\s$])[^$`\n]*?(?<=[^\s\\])\$(?![\d$]))"
    r"|\*\*(?P<strong>(?=\S).+?(?<=\S))\*\*|(?<!\w)__(?P<strong_>(?=\S).+?(?<=\S))__(?!\w)"
    r"|\*(?P<em>(?=[^\s*]).+?(?<=[^\s*]))\*(?!\*)|(?<!\w)_(?P<em_>(?=[^\s_]).+?(?<=[^\s_]))_(?!\w)"
    r"|~~(?P<gone>(?=\S).+?(?<=\S))~~",
    re.DOTALL,
)
_TAGS = {"strong": "strong", "strong_": "strong", "em": "em", "em_": "em", "gone": "del"}


def to_html(text: str) -> str:
    """Return the Markdown as HTML."""
    return "\n".join(_blocks(clean(text).split("\n"), 0))


def _blocks(lines: list[str], depth: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        heading = _HEADING.match(line)
        if not line.strip():
            at += 1
        elif fence:
            at, body = _fenced(lines, at, fence)
            yield f"<pre><code>{html.escape(body)}</code></pre>"
        elif heading:
            level = min(6, len(heading["level"]) + 2)
            yield f"<h{level}>{_inline(heading['words'])}</h{level}>"
            at += 1
        elif _RULE.match(line):
            yield "<hr>"
            at += 1
        elif line.lstrip(" ").startswith(">") and depth < _DEEPEST:
            at, inner = _quoted(lines, at)
            yield f"<blockquote>{''.join(_blocks(inner, depth + 1))}</blockquote>"
        elif _ITEM.match(line) and depth < _DEEPEST:
            at, made = _list(lines, at, depth)
            yield made
        elif at + 1 < len(lines) and "|" in line and _TABLE_LINE.match(lines[at + 1]):
            at, made = _table(lines, at)
            yield made
        else:
            at, words = _paragraph(lines, at, depth)
            yield words


def _fenced(lines: list[str], at: int, fence: re.Match[str]) -> tuple[int, str]:
    body: list[str] = []
    indent = len(fence["indent"])
    for end in range(at + 1, len(lines)):
        bare = lines[end].strip()
        if len(bare) >= len(fence["fence"]) and not bare.strip(fence["fence"][0]):
            return end + 1, "\n".join(body)
        line = lines[end]
        body.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    return len(lines), "\n".join(body)


def _quoted(lines: list[str], at: int) -> tuple[int, list[str]]:
    inner: list[str] = []
    while at < len(lines) and lines[at].lstrip(" ").startswith(">"):
        inner.append(lines[at].lstrip(" ")[1:].removeprefix(" "))
        at += 1
    return at, inner


def _list(lines: list[str], at: int, depth: int) -> tuple[int, str]:
    """Take a list: what is indented under an item belongs to it."""
    first = _ITEM.match(lines[at])
    assert first is not None
    ordered = first["mark"][0].isdigit()
    items: list[list[str]] = []
    width = 0
    while at < len(lines):
        line = lines[at]
        item = _ITEM.match(line)
        starts = item and len(item["indent"]) <= len(first["indent"]) + 1
        if item and starts and item["mark"][0].isdigit() == ordered:
            width = len(item["indent"]) + len(item["mark"]) + max(1, len(item["gap"]))
            items.append([item["rest"]])
        elif not line.strip() or line.startswith(" " * (len(first["indent"]) + 2)):
            stripped = len(line) - len(line.lstrip(" "))
            items[-1].append(line[min(width, stripped) :])
        elif items[-1][-1].strip() and not _begins_a_block(line):
            items[-1].append(line)
        else:
            break
        at += 1
    made = "".join(f"<li>{_item(inner, depth)}</li>" for inner in items)
    if not ordered:
        return at, f"<ul>{made}</ul>"
    start = int(first["mark"][:-1])
    return at, f'<ol start="{start}">{made}</ol>' if start != 1 else f"<ol>{made}</ol>"


def _item(inner: list[str], depth: int) -> str:
    task = re.match(r"^\[([ xX])\][ \t]+", inner[0])
    box = ""
    if task:
        box = "☐ " if task[1] == " " else "☑ "
        inner = [inner[0][task.end() :], *inner[1:]]
    made = "".join(_blocks(inner, depth + 1))
    if made.startswith("<p>") and made.count("<p>") == 1:
        made = made.removeprefix("<p>").replace("</p>", "", 1)
    return box + made


def _table(lines: list[str], at: int) -> tuple[int, str]:
    aligns = [_align(cell) for cell in _cells(lines[at + 1])]
    rows = [_row(_cells(lines[at]), aligns, "th")]
    at += 2
    while at < len(lines) and lines[at].strip() and "|" in lines[at]:
        rows.append(_row(_cells(lines[at])[: len(aligns)], aligns, "td"))
        at += 1
    head, *body = rows
    return at, f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    bare = bare[:-1] if bare.endswith("|") and not bare.endswith("\\|") else bare
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare)]


def _align(cell: str) -> str:
    if cell.endswith(":"):
        return ' class="middle"' if cell.startswith(":") else ' class="right"'
    return ""


def _row(cells: list[str], aligns: list[str], tag: str) -> str:
    filled = cells + [""] * (len(aligns) - len(cells))
    made = (
        f"<{tag}{align}>{_inline(cell)}</{tag}>"
        for cell, align in zip(filled, aligns, strict=False)
    )
    return f"<tr>{''.join(made)}</tr>"


def _begins_a_block(line: str) -> bool:
    marks = (_FENCE, _HEADING, _RULE, _ITEM)
    return line.lstrip(" ").startswith(">") or any(mark.match(line) for mark in marks)


def _paragraph(lines: list[str], at: int, depth: int) -> tuple[int, str]:
    words = [lines[at]]
    at += 1
    while at < len(lines) and lines[at].strip():
        if depth < _DEEPEST and _begins_a_block(lines[at]):
            break
        words.append(lines[at])
        at += 1
    return at, f"<p>{_inline(chr(10).join(line.strip() for line in words))}</p>"


def _inline(text: str, depth: int = 0) -> str:
    if len(text) > _LONGEST or depth > _DEEPEST:
        return in_html(text)
    made = ""
    at = 0
    for match in _INLINE.finditer(text):
        made += in_html(text[at : match.start()]) + _mark(match, depth)
        at = match.end()
    return made + in_html(text[at:])


def _mark(match: re.Match[str], depth: int) -> str:
    if match["code"] is not None:
        return f"<code>{html.escape(match['body'].strip() or match['body'])}</code>"
    if match["escaped"] is not None:
        return html.escape(match["escaped"])
    if match["label"] is not None:
        return _link(_inline(match["label"], depth + 1), match["to"])
    if match["bare"] is not None:
        return _link(html.escape(match["bare"]), match["bare"])
    if match["maths"] is not None:
        return f'<span class="maths">{in_html(match["maths"])}</span>'
    for name, tag in _TAGS.items():
        if match[name] is not None:
            return f"<{tag}>{_inline(match[name], depth + 1)}</{tag}>"
    return in_html(match[0])


def _link(label: str, to: str) -> str:
    if not (may_lead(to) and may_lead(read_by_browser(to))) or "<a " in label:
        return label
    return f'<a href="{html.escape(to)}" rel="noopener noreferrer">{label or html.escape(to)}</a>'
