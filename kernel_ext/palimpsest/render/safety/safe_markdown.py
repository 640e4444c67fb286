"""Make the model's Markdown safe to display, keeping it Markdown.

Border: pure. HTML outside code is escaped; only links to the web, to mail or into the project are
kept; images of other hosts become links that name the host, because loading an image tells its
host who reads what. Code is found line by line and written again (see ``escaping.py``); where
dialects of Markdown could differ, the interpretation that escapes more is used.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.render.safety.allowed_elements import may_lead, tex_as_text, tex_without_commands
from palimpsest.render.safety.escaping import DOLLAR, clean, code_block, code_span

_FENCE = lazy_pattern(r"^(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
_NESTED_FENCE = lazy_pattern(
    r"^(?P<prefix>[ \t]*(?:(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*)"
    r"(?P<fence>`{3,}|~{3,})(?P<info>.*)$"
)
_LIST_ITEM = lazy_pattern(r"^ {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_INDENTATION = lazy_pattern(r"^(?: {4}| {0,3}\t)")
_INSIDE_MATHS = r"(?:(?!\n[ \t]*\n)[^$`])"
_MATHS = lazy_pattern(
    r"(?<![\\$])\$\$(?P<tex>" + _INSIDE_MATHS + r"{1,4000}?)\$\$(?!\$)"
    r"|\\\\\[(?P<jupyter>" + _INSIDE_MATHS + r"{1,4000}?)\\\\\]"
    r"|(?<!\\)\\\[(?P<latex>" + _INSIDE_MATHS + r"{1,4000}?)\\\]"
    r"|(?P<whole>\\begin\{(?P<env>[a-z]{1,30}\*?)\}"
    + _INSIDE_MATHS
    + r"{0,4000}?\\end\{(?P=env)\})"
    r"|(?<![\\$\w])\$(?P<inline>(?=[^\s$])[^$`\n]*?(?<=[^\s\\]))\$(?![\d$])"
    r"|(?<![\\$])\\\\?\((?P<round>[^$`\n]{1,400}?)\\\\?\)(?!\$)"
)
_LOOKS_LIKE_MATHS = lazy_pattern(r"[\\^_={}]")
_OPENS_MATHS = lazy_pattern(r"\${2,}|\\begin(?=\{)|\\\\(?=[\[(])")
_DOLLAR_SIGN = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\?\$")
"""A dollar sign, with the backslash that escapes it."""
_FENCE_MARKS = lazy_pattern(r"`{3,}|~{3,}")
_DESTINATION = r"[ \t]*\n?[ \t]*(?P<to>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
_LINK_TITLE = r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)"
_LINK = lazy_pattern(r"\]\(" + _DESTINATION + _LINK_TITLE)
_ANY_LINK = lazy_pattern(r"\]\((?=(?P<to>.{0,400}))", re.DOTALL)
_IMAGE = lazy_pattern(r"!\[(?P<alt>[^\[\]\n]*)\]\(" + _DESTINATION + _LINK_TITLE)
_ESCAPED_SIGN = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\([<&])")
_ESCAPE = lazy_pattern(r"\\([!-/:-@\[-`{-~])")
_HOST = lazy_pattern(r"^(?:https?:)?//(?P<host>[^/?#\\]+)", re.IGNORECASE)


def safe_markdown(text: str) -> str:
    """Return the model's Markdown in a form that is safe for a front end that renders it unchecked."""
    pieces = []
    for piece in _code_and_text_blocks(clean(text).split("\n")):
        if isinstance(piece, _Code):
            pieces.append(code_block(piece.text, piece.language))
        elif prose := _safe_prose(piece):
            pieces.append(prose)
    return "\n\n".join(pieces)


@dataclass(frozen=True, slots=True)
class _Code:
    text: str
    language: str
    marker: str = ""
    """The list marker before the code."""


class _Reader:
    """Reads blocks of code and text from lines; an open list changes the meaning of indentation."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.position = 0
        self.in_list = False
        self.after_blank = True
        self.dedent = 0
        """Columns to remove from following lines of a list item whose code block was moved out of it."""

    def take_code(self) -> _Code | None:
        """Consume a code block that begins here outside lists and quotes, or return None."""
        line = self.lines[self.position]
        fence = _FENCE.match(line)
        if fence and _is_opening(fence) and not (self.in_list and len(fence["indent"]) > 1):
            return self._take_fenced_code(fence["fence"], len(fence["indent"]), fence["info"])
        if self.after_blank and not self.in_list and _INDENTATION.match(line) and line.strip():
            return self._take_indented_code()
        return None

    def take_nested_code(self) -> _Code | None:
        """Consume a fence inside a list or quote, and return its code without the list or quote.

        Dialects differ on where such a fence ends.
        """
        fence = _NESTED_FENCE.match(self.lines[self.position])
        if not fence or not fence["prefix"] or not _is_opening(fence):
            return None
        prefix = fence["prefix"]
        code = self._take_fenced_code(
            fence["fence"], len(prefix), fence["info"], is_quoted=">" in prefix
        )
        self.dedent = len(prefix)
        marker = prefix.rstrip()
        return _Code(code.text, code.language, marker if marker.strip(" \t>") else "")

    def take_text_line(self) -> str:
        """Consume one line of text."""
        line = self.lines[self.position]
        self.position += 1
        if line.strip() and not line.startswith(" " * self.dedent):
            self.dedent = 0
        line = line[self.dedent :]
        if _LIST_ITEM.match(line):
            self.in_list = True
        elif line.strip() and self.after_blank and not line.startswith((" ", "\t")):
            self.in_list = False
        self.after_blank = not line.strip()
        return line

    def _take_fenced_code(
        self, fence: str, indent: int, info: str, *, is_quoted: bool = False
    ) -> _Code:
        code_lines: list[str] = []
        self.position += 1
        while self.position < len(self.lines):
            line = self.lines[self.position]
            self.position += 1
            content = line.lstrip(" \t>") if indent > 3 or is_quoted else line.lstrip(" ")
            if _closes_fence(content, fence):
                break
            code_lines.append(_without_container(line, indent, is_quoted=is_quoted))
        self.after_blank = True
        info_words = info.split(None, 1)
        return _Code("\n".join(code_lines), info_words[0].strip("{}.") if info_words else "")

    def _take_indented_code(self) -> _Code:
        code_lines: list[str] = []
        while self.position < len(self.lines):
            line = self.lines[self.position]
            if line.strip() and not _INDENTATION.match(line):
                break
            code_lines.append(_INDENTATION.sub("", line, count=1))
            self.position += 1
        return _Code("\n".join(code_lines).rstrip(), "")


def _code_and_text_blocks(lines: list[str]) -> Iterator[_Code | list[str]]:
    """Split lines into blocks of code and runs of lines that are text."""
    reader = _Reader(lines)
    text_lines: list[str] = []
    while reader.position < len(reader.lines):
        code = reader.take_code() or reader.take_nested_code()
        if code is not None:
            yield [*text_lines, code.marker] if code.marker else text_lines
            text_lines = []
            yield code
        else:
            text_lines.append(reader.take_text_line())
    yield text_lines


def _is_opening(fence: re.Match[str]) -> bool:
    return not (fence["fence"].startswith("`") and "`" in fence["info"])


def _closes_fence(line: str, fence: str) -> bool:
    bare = line.rstrip(" \t")
    return len(bare) >= len(fence) and not bare.strip(fence[0]) and bare.startswith(fence)


def _without_container(line: str, indent: int, *, is_quoted: bool) -> str:
    """Remove at most the container's indentation, and its quote marks."""
    if is_quoted:
        return re.sub(r"^[ \t]*(?:>[ \t]?)+", "", line)
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :]


def _safe_prose(lines: list[str]) -> str:
    """Return lines of text in a safe form; inline code is kept, unchanged or with entities."""
    spans = _code_and_prose_spans("\n".join(lines).strip("\n"))
    safe_text = "".join(piece if is_code else _safe_html(piece) for is_code, piece in spans)
    return re.sub(r"\n{3,}", "\n\n", safe_text).strip("\n")


def _code_and_prose_spans(text: str) -> Iterator[tuple[bool, str]]:
    """Yield inline code (already safe) and the text between, in order, as ``(is_code, text)``."""
    position = 0
    for match in re.finditer(r"(?<!`)(?P<ticks>`+)(?!`)", text):
        if match.start() < position or _backslash_count(text, match.start()) % 2:
            continue
        line_end = text.find("\n", match.end())
        line_end = len(text) if line_end < 0 else line_end
        closing_ticks = re.compile(r"(?<!`)" + match["ticks"] + r"(?!`)")
        close = closing_ticks.search(text, match.end(), line_end)
        if close is None:
            continue
        yield False, text[position : match.start()]
        body = text[match.end() : close.start()]
        is_padded = body.startswith(" ") and body.endswith(" ") and body.strip() != ""
        yield True, code_span(body[1:-1] if is_padded else body)
        position = close.end()
    yield False, text[position:]


def _backslash_count(text: str, end: int) -> int:
    start = end
    while start and text[start - 1] == "\\":
        start -= 1
    return end - start


def _safe_html(text: str) -> str:
    """Escape HTML, and neutralise unsafe links and images; maths keeps its special characters.

    Displayed maths becomes a block of its own. nbconvert searches its delimiters before it searches
    code, so a single pair of dollar signs could include the fence of the next block.
    """
    safe_text = ""
    position = 0
    for match in _MATHS.finditer(text):
        maths = _maths(match)
        if maths is None:
            continue
        safe_text += _plain_text(text[position : match.start()])
        safe_text += " " + maths if safe_text.endswith("$") and maths.startswith("$") else maths
        position = match.end()
    return safe_text + _plain_text(text[position:])


def _maths(match: re.Match[str]) -> str | None:
    """Return maths in a form that every renderer reads the same, or None when it is not maths."""
    groups = {name: body for name, body in match.groupdict().items() if body is not None}
    name, body = next((name, body) for name, body in groups.items() if name != "env")
    if name in ("latex", "round") and not _LOOKS_LIKE_MATHS.search(body):
        return None
    body = tex_as_text(re.sub(r"< ?", r"\\lt ", body))
    body = _FENCE_MARKS.sub("", body.replace("![", "! [").replace("](", "] (").replace("]:", "] :"))
    if name in ("inline", "round"):
        return f"${body.strip()}$"
    body = body.strip()
    edge = "\n" if "\n" in body or body.endswith("\\") else ""  # else a backslash escapes it
    return f"\n\n{body}\n\n" if name == "whole" else f"\n\n$${edge}{body}{edge}$$\n\n"


def _plain_text(text: str) -> str:
    # An entity after a backslash would be shown as its spelling.
    text = _ESCAPED_SIGN.sub(r"\1\2", text)
    text = html.escape(text, quote=False).replace("&gt;", ">")
    text = _FENCE_MARKS.sub(lambda match: f"&#{ord(match[0][0])};" * len(match[0]), text)
    text = _OPENS_MATHS.sub(_escaped_opener, text)
    text = tex_without_commands(text, "&#92;").replace("]:", "]&#58;")
    text = _IMAGE.sub(_image, text)
    text = text.replace("![", "&#33;[")
    text = _LINK.sub(_link, text)
    return _without_maths_signs(_ANY_LINK.sub(_disarmed_link, text))


def _without_maths_signs(text: str) -> str:
    """Return text whose dollar signs no reader takes for the beginning or end of maths.

    ``text`` contains no maths: a pair of signs directly around a formula, and not followed by a digit, was removed
    before. JupyterLab would pair any two remaining signs of a paragraph, such as those of two prices.
    """
    safe_text, position = "", 0
    for link in _LINK.finditer(text):
        safe_text += _DOLLAR_SIGN.sub(r"\g<1>" + DOLLAR, text[position : link.start()])
        safe_text += link[0].replace("$", "&#36;")
        position = link.end()
    return safe_text + _DOLLAR_SIGN.sub(r"\g<1>" + DOLLAR, text[position:])


def _escaped_opener(match: re.Match[str]) -> str:
    signs = match[0]
    return "&#36;" * len(signs) if signs[0] == "$" else "&#92;" + signs[1:]


def _image(match: re.Match[str]) -> str:
    destination, alt = match["to"], match["alt"].strip()
    address = browser_address(destination)
    if host := _HOST.match(address):
        escaped_name = html.escape(host["host"].rpartition("@")[2], quote=False)
        name = re.sub(r"[^A-Za-z0-9.:\-\u00a0-\U0010ffff]", "", escaped_name)
        return f"[image at {name}{': ' + alt if alt else ''}]({destination})"
    if may_lead(address, allows_local=True):
        return f"[image: {alt or html.escape(address, quote=False)}]({destination})"
    return f"[image: {alt or 'not shown'}]"


def _link(match: re.Match[str]) -> str:
    return match[0] if _is_link_target(match["to"]) else "] (link removed)"


def _disarmed_link(match: re.Match[str]) -> str:
    destination = re.match(r"\s*([^\s)]*)", match["to"])
    return "](" if destination and _is_link_target(destination[1]) else "]&#40;"


def _is_link_target(destination: str) -> bool:
    address = browser_address(destination)
    return not address or may_lead(address, allows_local=True)


def browser_address(destination: str) -> str:
    """Return the address of a link as a browser would read it."""
    unescaped = _ESCAPE.sub(r"\1", html.unescape(html.unescape(destination)))
    return re.sub(r"[\x00-\x20\ufffd]+", "", unescaped)
