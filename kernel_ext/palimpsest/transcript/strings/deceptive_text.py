"""Find text that could deceive a reader of a call's input: invisible characters and look-alikes.

Border: pure; values in, sentences out, each with its place. Whole words of one script, emoji and the joiners that
words need are ordinary text and are not reported.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.visible_text import (
    BIDI,
    BLANKS,
    python_escape,
    unreadable_characters,
    visible_line,
)

MAX_SENTENCES = 12
MORE_SENTENCE = "There is more of this kind."
MAX_PLACES = 3
MAX_QUOTED_CHARS = 40
"""Maximum characters that a sentence quotes of a key or a word."""
MIN_BLANK_COLUMNS = 40
"""Minimum blanks after text, about half of a terminal's line, that may move the rest out of sight."""
MIN_INDENT_COLUMNS = 80
"""Minimum blanks before text that are reported; fewer are used to align arguments."""
MIN_BLANK_LINES = 20
MAX_LINE_CHARS = 1_000
"""Maximum characters of a line whose end is not likely to be overlooked."""
TAB_COLUMNS = 8
COMMANDS = frozenset({"command", "cmd"})
"""Keys of values that a shell runs."""

_RUN = lazy_pattern(rf"[ \t{BLANKS}]{{5,}}")
_EMPTY_LINE = lazy_pattern(rf"[ \t\f{BLANKS}]*\r?")
_WORD = lazy_pattern(r"[^\W\d_]+")
_BIDI = lazy_pattern(f"[{BIDI}]")
_BLANK = lazy_pattern(f"[{BLANKS}]")
_IDEOGRAPHS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
_LOOKS_LATIN = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿονριυαγχκϲϳ")
"""Greek letters that look like Latin letters; others, as in Δt, deceive nobody."""
_OTHER_SCRIPTS = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN", "DESERET")
_LOOK_ALIKES: Mapping[str, str] = {
    **dict.fromkeys("\u2044\u2215\u29f8\u2571\uff0f\u2cc6\u3033", "/"),
    **dict.fromkeys("\u037e\uff1b\ufe14\ufe54\u204f\u061b", ";"),
    **dict.fromkeys("\u01c0\u2223\uff5c\u2502\u2758\u05c0\u0964\ufe31\ufe33", "|"),
    **dict.fromkeys("\uff06\ufe60\ua778", "&"),
    **dict.fromkeys("\uff04\ufe69", "$"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02\u02ba\u3003", '"'),
    **dict.fromkeys("\uff40\u02cb\u1fef", "`"),
    **dict.fromkeys("\uff1c\u2039\u02c2\ufe64", "<"),
    **dict.fromkeys("\uff1e\u203a\u02c3\ufe65", ">"),
}
_SIGN = lazy_pattern(f"[{''.join(_LOOK_ALIKES)}]")


def deception_sentences(
    values: Mapping[str, Any], *, are_commands: bool = False
) -> tuple[str, ...]:
    """Return a sentence for each kind of deceptive text in the values, with its places.

    Args:
        values: The input of a call; keys and nested values are checked too.
        are_commands: Whether a shell runs every value.
    """
    sentences = (
        sentence
        for name, text, is_command in _texts_with_places("", values, are_commands=are_commands)
        for sentence in _text_sentences(name, text, is_command=is_command)
    )
    first_sentences = tuple(islice(sentences, MAX_SENTENCES + 1))
    if len(first_sentences) <= MAX_SENTENCES:
        return first_sentences
    return (*first_sentences[:MAX_SENTENCES], MORE_SENTENCE)


def _texts_with_places(
    name: str, value: Any, *, are_commands: bool
) -> Iterator[tuple[str, str, bool]]:
    """Yield every text, its place and whether a shell runs it; not recursive, since a model chooses the depth."""
    unread_values: list[tuple[str, Any, bool]] = [(name, value, are_commands)]
    while unread_values:
        place, value, is_command = unread_values.pop()
        if isinstance(value, str):
            yield place, value, is_command
        elif isinstance(value, Mapping):
            inner_values = [
                (
                    f"{place}.{visible_line(str(key), MAX_QUOTED_CHARS)}".strip("."),
                    str(key),
                    inner_value,
                )
                for key, inner_value in value.items()
            ]
            yield from ((f"the name {name}", key, is_command) for name, key, _ in inner_values)
            unread_values += [
                (name, inner_value, is_command or key.lower() in COMMANDS)
                for name, key, inner_value in reversed(inner_values)
            ]
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            unread_values += [
                (f"{place}[{at}]", value[at], is_command) for at in range(len(value) - 1, -1, -1)
            ]


def _text_sentences(name: str, text: str, *, is_command: bool) -> Iterator[str]:
    lines = text.split("\n")
    if not text.isascii() or not text.isprintable():
        yield from _invisible_character_sentences(name, text)
    if not text.isascii():
        yield from _mixed_word_sentences(name, text)
        if is_command:
            yield from _look_alike_sentences(name, text)
    yield from _blank_sentences(name, lines)
    long_lines = [
        line_number for line_number, line in enumerate(lines, 1) if len(line) > MAX_LINE_CHARS
    ]
    if long_lines:
        char_count = len(lines[long_lines[0] - 1])
        yield f"{name}, line {long_lines[0]}: {char_count:,} characters in one line; read it to its end."


def _invisible_character_sentences(name: str, text: str) -> Iterator[str]:
    for sign, positions in _positions_by_sign(unreadable_characters(text)).items():
        is_bidi = _BIDI.match(sign) is not None
        effect = "changes the direction of text" if is_bidi else "is not seen"
        yield f"{_places_text(name, text, positions)}: {_character_name(sign)} {effect}."


def _positions_by_sign(matches: Iterable["re.Match[str]"]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for match in matches:
        positions.setdefault(match[0], []).append(match.start())
    return positions


def _mixed_word_sentences(name: str, text: str) -> Iterator[str]:
    words: dict[str, tuple[list[int], str]] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii():
            continue
        foreign_letter = _foreign_letter(word)
        if foreign_letter:
            words.setdefault(word, ([], foreign_letter))[0].append(match.start())
    for word, (positions, foreign_letter) in words.items():
        yield f"{_places_text(name, text, positions)}: the word {visible_line(word, MAX_QUOTED_CHARS)!r} holds {_character_name(foreign_letter)}, which looks like another letter."


def _foreign_letter(word: str) -> str:
    """Return the first letter that imitates a Latin letter; empty where the word is of one script."""
    names = [unicodedata.name(sign, "") for sign in word]
    if not any(name.startswith(_IDEOGRAPHS) for name in names):
        for sign in word:
            folded = unicodedata.normalize("NFKC", sign)
            if sign not in "ªº" and not sign.isascii() and folded.isascii() and folded.isalpha():
                return sign
    if not any(name.startswith("LATIN") for name in names):
        return ""
    for sign, sign_name in zip(word, names, strict=True):
        if sign in _LOOKS_LATIN or sign_name.startswith(_OTHER_SCRIPTS):
            return sign
    return ""


def _look_alike_sentences(name: str, text: str) -> Iterator[str]:
    for sign, positions in _positions_by_sign(_SIGN.finditer(text)).items():
        yield f"{_places_text(name, text, positions)}: {_character_name(sign)} looks like {_LOOK_ALIKES[sign]} and is none."
    blanks = [match.start() for match in _BLANK.finditer(text)]
    if blanks:
        yield f"{_places_text(name, text, blanks)}: {_character_name(text[blanks[0]])} looks like a blank, and a shell takes it as part of a word."


def _blank_sentences(name: str, lines: Sequence[str]) -> Iterator[str]:
    empty_lines = 0
    for line_number, line in enumerate(lines, 1):
        if _EMPTY_LINE.fullmatch(line):
            empty_lines += 1
            continue
        if empty_lines >= MIN_BLANK_LINES:
            yield f"{name}, line {line_number}: text follows behind {empty_lines} empty lines."
        empty_lines = 0
        for blank_run in _RUN.finditer(line):
            columns = len(blank_run[0].replace("\t", " " * TAB_COLUMNS))
            min_columns = MIN_BLANK_COLUMNS if blank_run.start() else MIN_INDENT_COLUMNS
            if columns >= min_columns and line[blank_run.end() :].rstrip("\r"):
                place = f"line {line_number}, column {blank_run.end() + 1}"
                yield f"{name}, {place}: text follows behind {columns} blanks."
                break


def _places_text(name: str, text: str, positions: Sequence[int]) -> str:
    places = [_line_and_column(text, index) for index in positions[:MAX_PLACES]]
    more_count = len(positions) - len(places)
    return f"{name}, {'; '.join(places)}{f' and {more_count} more times' if more_count else ''}"


def _line_and_column(text: str, index: int) -> str:
    begin = text.rfind("\n", 0, index) + 1
    return f"line {text.count(chr(10), 0, index) + 1}, column {index - begin + 1}"


def _character_name(sign: str) -> str:
    nameless = "a control character" if ord(sign) < 0xA0 else "a character without a name"
    name = unicodedata.name(sign, nameless)
    return f"{python_escape(sign)} ({name})"
