"""Make text that others wrote safe to put into Markdown, and keep it readable.

Border: strings in, strings out. The result is shown by front ends that trust it, so no HTML of
a model or a tool may reach it, whatever Markdown dialect reads it.

Dialects disagree about where code and maths begin and end, and a disagreement is how a tag
slips out of "code". So nothing here relies on such a guess: outside code ``<`` and ``&`` become
entities and no three backticks or tildes stand together; a block of code is written again in the
one form that every reader agrees on; and what is neither plain nor harmless is written as
``<code>`` with every sign as an entity.
"""

import html
import re

from palimpsest.render.safety.allowed_elements import tex_without_commands

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_ENDS = re.compile(r"\r\n?|[\u0085\u2028\u2029]")
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_TICKS = re.compile(r"`+")
_HARMFUL = re.compile(
    r"<[A-Za-z/!?]|\]\(|\]\[|!\[|\$\$|\\begin\{|\\\\[\[(]|(?:script|data|file)\s*:", re.IGNORECASE
)
"""What could become a tag, a link, an image or maths for a reader who does not see the code."""
_MARKUP = re.compile(_HARMFUL.pattern + r"|\]:|&", re.IGNORECASE)
_ENDS_MATHS = re.compile(r"\$\$|\\end\{|\\\\[\])]")
_LONGEST_FENCE = 24
_INLINE = re.compile(r"[\\`*\[\]{}|~$#!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_NO_ENTITY = re.compile(r"[^A-Za-z0-9 .,;\u00a0-\U0010ffff]")
_LANGUAGES = frozenset(
    [
        "bash",
        "c",
        "console",
        "cpp",
        "css",
        "diff",
        "go",
        "html",
        "ini",
        "java",
        "javascript",
        "json",
        "julia",
        "latex",
        "make",
        "markdown",
        "powershell",
        "pycon",
        "pytb",
        "python",
        "python3",
        "r",
        "ruby",
        "rust",
        "sh",
        "shell",
        "sql",
        "toml",
        "ts",
        "typescript",
        "xml",
        "yaml",
    ]
)
PLAIN = "\u00a0"
"""The language of what has none: a no-break space.

It is no blank to a Markdown reader, so the fence cannot be taken for a closing one; but nbconvert
takes it for no language and keeps the text in a typewriter face, which it does not for "text".
"""
_OTHER_LANGUAGES = {"py": "python", "js": "javascript", "yml": "yaml", "md": "markdown"}


def clean(text: str) -> str:
    """Normalise line ends; drop colour codes; replace control, bidi and broken characters."""
    text = _LINE_ENDS.sub("\n", _ANSI.sub("", text))
    return _CONTROLS.sub("\ufffd", text)


def one_line(text: str, longest: int = 160) -> str:
    """Return cleaned text as one line of at most ``longest`` characters."""
    line = " ".join(clean(text[: longest * 8]).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def inline(text: str) -> str:
    """Escape words so that they are shown as they are inside a Markdown line."""
    line = " ".join(clean(text).split())
    escaped = _INLINE.sub(r"\\\g<0>", html.escape(line, quote=False))
    return re.sub(r"^([-+]|\d+(?=[.)](?: |$)))", _entity, escaped)


def code_span(text: str) -> str:
    """Return ``text`` as inline code on one line.

    Its own marks are one or two backticks: three could be taken for a fence.
    """
    line = clean(text).replace("\n", " ").replace("\t", " ")
    if not line.strip():
        return ""
    longest = _longest_run(line)
    if _HARMFUL.search(line) or longest > 1 or "~~~" in line:
        return f"<code>{_entities(line)}</code>"
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def code_block(text: str, language: str = "") -> str:
    """Return ``text`` as a block of code.

    The opening fence always names a language, so that nobody takes it for a closing one. Text
    that could both end somebody's maths and go on as markup is written with entities only.
    """
    body = clean(text).strip("\n")
    longest = _longest_run(body)
    if longest > _LONGEST_FENCE or (_ENDS_MATHS.search(body) and _MARKUP.search(body)):
        return f"<pre><code>{_entities(body)}</code></pre>"
    fence = "`" * max(3, longest + 1)
    return f"{fence}{_language(language)}\n{body}\n{fence}"


def _language(name: str) -> str:
    name = name.strip().lower()
    name = _OTHER_LANGUAGES.get(name, name)
    return name if name in _LANGUAGES else PLAIN


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


def _entity(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(sign)};" for sign in match[0])


def _entities(text: str) -> str:
    return _NO_ENTITY.sub(_entity, text)


def in_html(text: str) -> str:
    """Return words as HTML outside of code, where MathJax may look for maths.

    A link or a style that maths makes is none that was looked at: the command keeps its look and
    loses its meaning.
    """
    return tex_without_commands(html.escape(text), "\\\u200b")
