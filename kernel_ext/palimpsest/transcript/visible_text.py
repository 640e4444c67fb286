r"""Replace invisible characters and terminal control characters by escapes such as ``\x1b`` and ``\u202e``.

Border: pure; text in, text out. This is the only table of such characters. All text of a model, a tool, a file or a
recording that a terminal shows passes through ``visible_text``, and text to be approved through ``visible_code``. Both
keep line feeds and tabs, and leave their own results unchanged. Markdown and HTML, which no terminal reads, pass
through ``render/safety/escaping.py:clean``, which uses the same table.
"""

import re
from collections.abc import Iterator

from palimpsest.lazy_patterns import lazy_pattern

CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
"""C0 but line feed and tab, DEL, C1, halves of surrogate pairs and code points that are no characters."""
OVERRIDES = r"\u202a-\u202e\u2066-\u2069"
"""Embeddings, overrides and isolates, which change the direction of the text after them."""
BIDI = OVERRIDES + r"\u061c\u200e\u200f"
"""All characters that change the direction of text."""
INVISIBLE = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufdd0-\ufdef\ufff0-\ufffb\U000110bd\U000110cd\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Without width: joiners, soft hyphens, fillers, tags, variation selectors, interlinear marks, and other line ends."""
BLANKS = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
"""Characters that look like a space."""

HIDDEN_CHARACTERS = lazy_pattern(f"[{CONTROLS}{BIDI}{INVISIBLE}]")
_HIDDEN_OR_BLANK = lazy_pattern(f"[{CONTROLS}{BIDI}{INVISIBLE}{BLANKS}]")
_COLOURS = lazy_pattern(r"\x1b\[[0-9;:]*m")
_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001faff"
)
_JOINED_SCRIPTS = r"\u0600-\u0605\u0610-\u061a\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18af"
"""Arabic and related scripts, and the scripts of India and its neighbours, whose words need joiners."""
_READABLE = lazy_pattern(
    f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]"  # how an emoji is drawn
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # a key cap
    f"|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"  # an emoji made of several
    f"|(?<=[{_JOINED_SCRIPTS}])[\u200c\u200d](?=[{_JOINED_SCRIPTS}])"
    f"|({HIDDEN_CHARACTERS.pattern})"
)


def visible_text(text: str) -> str:
    r"""Return text for a terminal, with escapes for control characters and invisible characters.

    Joiners inside emoji and inside words of scripts that need them stay; ``\r\n`` becomes a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return _READABLE.sub(_escape_unless_readable, text.replace("\r\n", "\n"))


def encodable_text(text: str, stream: object) -> str:
    """Return text with escapes for the characters that a stream's encoding lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def visible_code(text: str) -> str:
    """Return code, a command or a path to be approved, with escapes for invisible characters and unusual spaces."""
    return _HIDDEN_OR_BLANK.sub(_escape_match, text)


def visible_line(text: str, max_chars: int = 0) -> str:
    """Return text for a terminal as one line, cut to ``max_chars`` characters where that is given."""
    line = " ".join(visible_text(text).split())
    return line if not 0 < max_chars < len(line) else line[: max_chars - 1].rstrip() + "…"


def unreadable_characters(text: str) -> Iterator[re.Match[str]]:
    """Yield each character that ``visible_text`` escapes."""
    return (
        match
        for match in _READABLE.finditer(text)
        if match[1] and not (match[0] == "\r" and text.startswith("\n", match.end()))
    )


def without_colours(text: str) -> str:
    """Return a program's output without the codes that only colour it; every other code stays."""
    return _COLOURS.sub("", text)


def visible_json(text: str) -> str:
    """Return JSON with JSON escapes for invisible characters, so that it is parsed as before."""
    return HIDDEN_CHARACTERS.sub(_json_escape, text)


def _escape_unless_readable(match: re.Match[str]) -> str:
    return _escape_match(match) if match[1] else match[0]


def _escape_match(match: re.Match[str]) -> str:
    return python_escape(match[0])


def python_escape(sign: str) -> str:
    """Return the Python escape of one character."""
    code = ord(sign)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[offset : offset + 2].hex()}" for offset in range(0, len(units), 2))
