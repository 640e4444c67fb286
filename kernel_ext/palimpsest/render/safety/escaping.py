"""Escape text of models, tools and users for Markdown and HTML, and keep it readable.

Border: strings in, strings out. The result is shown by front ends that trust it, so no HTML of
a model or a tool may reach it, whatever Markdown dialect reads it.

Dialects disagree about where code and maths begin and end, and through such a disagreement a tag can escape from
"code". So nothing here relies on such a guess: outside code ``<`` and ``&`` become entities and there are no three
backticks or tildes in a row; a block of code is written again in the one form that every reader agrees on; and text
that could be harmful is written as ``<code>`` with every special character as an entity.
"""

import html
import re

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.render.safety.allowed_elements import tex_without_commands
from palimpsest.transcript.visible_text import CONTROLS, OVERRIDES

_ANSI = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_ENDS = lazy_pattern(r"\r\n?|[\u0085\u2028\u2029]")
_REPLACED_CHARACTERS = lazy_pattern(f"[{CONTROLS}{OVERRIDES}\ufeff]")
_TICKS = lazy_pattern(r"`+")
_HARMFUL = lazy_pattern(
    r"<[A-Za-z/!?]|\]\(|\]\[|!\[|\$\$|\\begin\{|\\\\[\[(]|(?:script|data|file)\s*:", re.IGNORECASE
)
"""Characters that could form a tag, link, image or formula in a dialect that does not recognise the code."""
_MARKUP = lazy_pattern(_HARMFUL.pattern + r"|\]:|&", re.IGNORECASE)
_ENDS_MATHS = lazy_pattern(r"\$\$|\\end\{|\\\\[\])]")
_MAX_FENCE_CHARS = 24
"""Maximum length of a run of backticks in a code block that is written with a fence."""
_INLINE_MARKS = lazy_pattern(r"[\\`*\[\]{}|~#!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
DOLLAR = "<span>&#36;</span>"
"""A dollar sign in Markdown that no reader takes for the beginning or end of maths.

A backslash before the sign is not enough: JupyterLab's HTML has a plain sign there, and MathJax, which reads the HTML,
typesets the text between two plain signs. MathJax pairs no signs of different elements, so the sign is in an element of
its own; and readers that search the Markdown for maths do not find an entity.
"""
_NEEDS_ENTITY = lazy_pattern(r"[^A-Za-z0-9 .,;\u00a0-\U0010ffff]")
MAX_LINE_CHARS = 160
MAX_HTML_LINE_CHARS = 600
MAX_BLANK_FACTOR = 8
"""So many times the characters of a line are read of a text, since most may be blanks and codes."""
_LANGUAGES = frozenset([
    "bash", "c", "console", "cpp", "css", "diff", "go", "html", "ini", "java", "javascript",
    "json", "julia", "latex", "make", "markdown", "powershell", "pycon", "pytb", "python",
    "python3", "r", "ruby", "rust", "sh", "shell", "sql", "toml", "ts", "typescript", "xml",
    "yaml",
])  # fmt: skip
NO_LANGUAGE = "\u00a0"
"""The language of a code block that has none: a no-break space.

A Markdown reader does not treat it as a blank, so the fence cannot be read as a closing one; but
nbconvert treats it as no language and keeps a monospaced font, which it does not for "text".
"""
_LANGUAGE_BY_ALIAS = {"py": "python", "js": "javascript", "yml": "yaml", "md": "markdown"}


def clean(text: str) -> str:
    """Return text with normal line ends, without colour codes, with control, bidi and broken characters replaced."""
    text = _LINE_ENDS.sub("\n", _ANSI.sub("", text))
    return _REPLACED_CHARACTERS.sub("\ufffd", text)


def one_line(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return cleaned text as one line of at most ``max_chars`` characters."""
    line = " ".join(clean(text[: max_chars * MAX_BLANK_FACTOR]).split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


def escape_inline(text: str) -> str:
    """Return escaped text, which is shown unchanged inside a Markdown line."""
    line = " ".join(clean(text).split())
    escaped = _INLINE_MARKS.sub(r"\\\g<0>", html.escape(line, quote=False)).replace("$", DOLLAR)
    return re.sub(r"^([-+]|\d+(?=[.)](?: |$)))", _as_entities, escaped)


def code_span(text: str) -> str:
    """Return ``text`` as inline code on one line.

    Its own marks are one or two backticks: three could be read as a fence.
    """
    line = clean(text).replace("\n", " ").replace("\t", " ")
    if not line.strip():
        return ""
    longest_run = _longest_run(line)
    if _HARMFUL.search(line) or longest_run > 1 or "~~~" in line:
        return f"<code>{_with_entities(line)}</code>"
    ticks = "`" * (longest_run + 1)
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{padding}{line}{padding}{ticks}"


def code_element(text: str) -> str:
    """Return ``text`` as code in HTML that no reader takes for Markdown or maths, on one line."""
    return f"<code>{_with_entities(one_line(text))}</code>"


def code_block(text: str, language: str = "") -> str:
    """Return ``text`` as a block of code.

    The opening fence always names a language, so that no reader takes it for a closing one. Text
    that could both end maths begun before it and continue as markup is written with entities only.
    """
    code = clean(text).strip("\n")
    longest_run = _longest_run(code)
    if longest_run > _MAX_FENCE_CHARS or (_ENDS_MATHS.search(code) and _MARKUP.search(code)):
        return f"<pre><code>{_with_entities(code)}</code></pre>"
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}{_language(language)}\n{code}\n{fence}"


def _language(name: str) -> str:
    name = name.strip().lower()
    name = _LANGUAGE_BY_ALIAS.get(name, name)
    return name if name in _LANGUAGES else NO_LANGUAGE


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _as_entities(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(sign)};" for sign in match[0])


def _with_entities(text: str) -> str:
    return _NEEDS_ENTITY.sub(_as_entities, text)


def in_html(text: str) -> str:
    """Return text as HTML outside of code, where MathJax may look for maths.

    Links and styles made by TeX commands would not be checked, so such a command is shown as text but disabled.
    """
    return tex_without_commands(html.escape(text), "\\\u200b")


def text_in_html(text: str) -> str:
    """Return cleaned text as HTML outside of code."""
    return in_html(clean(text))


def line_in_html(text: str, max_chars: int = MAX_HTML_LINE_CHARS) -> str:
    """Return text as one line of HTML, of at most ``max_chars`` characters before they are escaped."""
    return in_html(one_line(text, max_chars))
