r"""Recognise plain shell texts: words and quotes, joined by ``;`` ``&&`` ``||`` ``|`` and line breaks.

The commands of a plain text are certain: no substitution, heredoc, arithmetic, assignment, function, group, comment or
redirection hides a command. Its words are certain, too: no part of them is expanded, so a path is checked as the program
will receive it. Border: pure text. A text that is not certainly plain counts as not plain; the further analyses
(``shell_commands.py``, ``shell_files.py``) may only reject more.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.lazy_patterns import lazy_pattern

LEADING_KEYWORDS = frozenset([
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "time",
])  # fmt: skip
"""Keywords before a command, or around several commands."""
KEYWORDS = LEADING_KEYWORDS | {"select", "function", "coproc"}
"""Words that are not a program at the beginning of a command."""

MAX_PLAIN_CHARS = 20_000
"""Maximum characters of a plain text; a longer one is treated as a script."""

MAX_PLAIN_WORDS = 200
"""Maximum words of a plain text, so that every path in it can be checked."""

# A tilde at the beginning of a word, or after "=" or ":", may be expanded to a folder; that of HEAD~1 is not.
_UNQUOTED = r"(?:[A-Za-z0-9_./:,+@%=^-]|(?<=[A-Za-z0-9_./^@~])~|[^\W\x00-\x7f])"
_SINGLE = r"'[^']*+'"
_DOUBLE = r"\"(?:[^\"\\$`]|\\[^\n])*+\""
_TOKEN = lazy_pattern(
    rf"""
      (?P<blank> [ \t]++ )
    | (?P<discard> (?: [012]?>>?[ ]?/dev/null | &>>?[ ]?/dev/null | [012]?<[ ]?/dev/null | [012]?>&[12] )
        (?= [ \t\n;|&] | \Z ) )
    | (?P<word> (?: {_UNQUOTED} | {_SINGLE} | {_DOUBLE} )++ (?= [ \t\n;|&] | \Z ) )
    | (?P<join> && | \|\| | \| | ; | \n )
    """,
    re.VERBOSE,
)
_PROGRAM = lazy_pattern(r"[A-Za-z0-9_./][A-Za-z0-9_./+@:,-]*+")
_QUOTED = lazy_pattern(rf"{_SINGLE}|{_DOUBLE}")
_MAY_BE_SECOND_BYTE = lazy_pattern(r"[^\x00-\x7f][\\|\[\]{}^~]")
"""A character that, in some Chinese and Japanese encodings, can be the second byte of the character before it."""
_BLANK_BYTES = frozenset({0x85, 0xA0})
"""Bytes that are blanks in western single-byte encodings."""


@dataclass(frozen=True, slots=True)
class PlainCommand:
    """One command of a plain text."""

    text: str
    """The command as written."""
    words: tuple[str, ...]
    """Its words without quotes, as the program receives them; the first is the program."""


@lru_cache(maxsize=256)
def plain_commands(text: str) -> tuple[PlainCommand, ...] | None:
    """Return the commands of a plain text; None when it is not plain."""
    if len(text) > MAX_PLAIN_CHARS or not text.replace("\n", "").replace("\t", "").isprintable():
        # Shells differ in how they treat other blanks, line breaks and control characters.
        return None
    if not text.isascii() and not _is_same_in_all_encodings(text):
        return None
    return _PlainParser(text).commands()


class _PlainParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._commands: list[PlainCommand] = []
        self._words: list[str] = []
        self._start = self._end = 0
        self._separator = ";"
        self._remaining_words = MAX_PLAIN_WORDS

    def commands(self) -> tuple[PlainCommand, ...] | None:
        position = 0
        while position < len(self._text):
            token = _TOKEN.match(self._text, position)
            if token is None or not self._process(token):
                return None
            position = token.end()
        # After "&&", "||" and "|" a second command is required.
        is_complete = self._end_command("\n") and self._separator in (";", "\n")
        return tuple(self._commands) if is_complete and self._commands else None

    def _process(self, token: re.Match[str]) -> bool:
        """Process one token; returns False where the text is not plain."""
        match token.lastgroup:
            case "join":
                return self._end_command(token[0])
            case "discard":
                self._end = token.end()
                return bool(self._words)
            case "word":
                if not self._words:
                    self._start = token.start()
                self._end = token.end()
                self._remaining_words -= 1
                self._words.append(_QUOTED.sub(lambda quoted: _unquoted_text(quoted[0]), token[0]))
                has_program = len(self._words) > 1 or _is_program(token[0])
                return has_program and self._remaining_words >= 0
            case _:
                return True

    def _end_command(self, join: str) -> bool:
        """End a command; returns False if it is empty where the shell requires one."""
        if not self._words:
            return join == "\n"
        text = self._text[self._start : self._end]
        self._commands.append(PlainCommand(text, tuple(self._words)))
        self._words, self._separator = [], join
        return True


def _is_program(word_text: str) -> bool:
    return _PROGRAM.fullmatch(word_text) is not None and word_text not in KEYWORDS


def _unquoted_text(quoted_text: str) -> str:
    if quoted_text[0] == "'":
        return quoted_text[1:-1]
    return re.sub(r"\\([\\\"$`])", r"\1", quoted_text[1:-1])


def _is_same_in_all_encodings(text: str) -> bool:
    blank_bytes = _BLANK_BYTES & set(_QUOTED.sub("", text).encode("utf-8", "replace"))
    return _MAY_BE_SECOND_BYTE.search(text) is None and not blank_bytes
