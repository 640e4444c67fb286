"""Find secrets by their form in a text, whole or in pieces, and replace them by ``[redacted]``.

Border: pure; the values to remove are passed in, and ``transcript/redaction/secret_removal.py`` collects them. Every search
of a form is linear: its literal beginning is searched first, and the text after it is matched without backtracking. Text
that arrives in pieces may be cut anywhere, also within a surrogate pair. An end that may still become a secret is held back
until that is decided, and so is the first half of a pair; all other text is released at once.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.redaction.named_forms import NAMED_FORMS, NamedForm
from palimpsest.transcript.redaction.token_forms import (
    LETTERS_DIGITS,
    TOKEN_CHARS,
    TOKENS,
    TokenForm,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates, open_surrogate

MAX_SECRET_CHARS = 16_384
"""Maximum characters of a secret; the longest private key in use takes 6,400, so a longer run is no key."""

MAX_NAMED_CHARS = 2_000
"""Maximum characters of a name, its value and the text between them."""

MAX_VARIABLE_CHARS = 200
"""Maximum characters of a name of a variable that is searched for the words of a secret."""

MIN_TEXT_CHARS = 7
"""Minimum characters of a text with a secret; the shortest is an address with one letter as password."""

KEPT_RELEASED_CHARS = 200
"""Number of released characters that are kept, since a secret may begin in them and continue in the next piece."""

_WORD_BREAK = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]")
_SECRET_WORDS = lazy_pattern(
    r"(?:^|_)(?:passwords?|passwd|passphrase|pwd|pw|secrets?|credentials?|creds|token|tokens|jwt|bearer|otp"
    r"|dsn|webhook|cookies?|apikeys?|authorization|connection_string|conn_str"
    r"|(?:api|access|secret|private|auth|encryption|signing|ssh|account|master|app|service)_?keys?"
    r"|(?:openai|anthropic|azure|aws|gcp|google|github|hf|stripe|mistral|groq|gemini)_?keys?)(?:$|_|\d)"
)
_PEM_HEAD = "-----BEGIN "
_BETWEEN = r"""(?:[\s"',]|\\+[nrt"'])"""
_PEM = lazy_pattern(
    rf"""-----BEGIN\ [A-Z0-9 ]{{0,40}}?PRIVATE\ KEY(?:\ BLOCK)?-----
    (?:{_BETWEEN}{{0,40}}+(?:(?:Proc-Type|DEK-Info|Comment|Version):[^\n\\]{{0,200}}+|[A-Za-z0-9+/=]{{16,}}+))*+
    (?:{_BETWEEN}{{0,40}}+[A-Za-z0-9+/=]{{1,76}}+)?+
    (?:{_BETWEEN}{{0,40}}+-----END\ [A-Z0-9 ]{{0,60}}-----)?""",
    re.VERBOSE,
)
_PEM_OPEN = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----")
_PEM_CHARS = LETTERS_DIGITS + "+/=-:,._()\\\"' \t\r\n"
_ESCAPED = lazy_pattern(r"\\[nrtbf]")

TOKEN_HEADS = tuple((head, form.body) for form in TOKENS for head in form.beginnings)

_FORM_CHARS = "".join(form.body_characters + "".join(form.beginnings) for form in TOKENS)
RUN_CHARS = "".join(sorted({*TOKEN_CHARS, ":", *_FORM_CHARS}))
"""The characters of which tokens consist, their fixed letters included."""

MIN_RUN_CHARS = 14
"""Minimum characters of a token: most texts have no run of so many, so that no token is searched in them."""
_RUN = lazy_pattern(rf"[{re.escape(RUN_CHARS)}]{{{MIN_RUN_CHARS},}}+")

NAMED_IN_RUN = tuple(form for form in NAMED_FORMS if form.run_part)
NAMED_ELSEWHERE = tuple(form for form in NAMED_FORMS if not form.run_part)
"""The named forms whose name and value need not be one run of the characters of tokens."""
_NAME_ENDINGS = frozenset(ending for form in NAMED_ELSEWHERE for ending in form.name_endings)
_NAME_ENDINGS_BY_PART = tuple(
    (part, tuple(ending for ending in _NAME_ENDINGS if part in ending))
    for part in sorted(_NAME_ENDINGS)
    if not any(other in part for other in _NAME_ENDINGS - {part})
)
"""The name endings by a part that they have in common: few texts have the parts, and fewer the endings."""


def _begins_with_one_of(words: Collection[str]) -> str:
    """Return a pattern of texts that begin with one of some words, their common beginnings written once."""
    if not words or "" in words:
        return ""
    endings_by_letter: dict[str, list[str]] = {}
    for word in words:
        endings_by_letter.setdefault(word[0], []).append(word[1:])
    alternatives = [
        re.escape(first) + _begins_with_one_of(endings)
        for first, endings in endings_by_letter.items()
    ]
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


_SUSPECT = lazy_pattern(
    rf"(?:(?<![A-Za-z0-9])|(?<=\A[nrtbf])){_begins_with_one_of([head for head, _ in TOKEN_HEADS])}"
    rf"|{'|'.join(form.run_part for form in NAMED_IN_RUN)}"
)
"""Matches in every run that holds a token; the letter of an escaped line break may come before it."""

Span = tuple[int, int]

REDACTED = "[redacted]"

MAX_CACHED_CHARS = 500
"""Maximum characters of a text whose result is cached."""


def secret_spans(text: str) -> list[Span]:
    """Return the spans of secrets, in order and without overlaps."""
    if len(text) < MIN_TEXT_CHARS:
        return []
    spans: list[Span] = []
    lowered = _lower_case(text)
    if any(map(_is_suspect, found_runs := _RUN.findall(text))):
        runs = " ".join(found_runs)
        for head, body in TOKEN_HEADS:
            if head in runs:
                spans.extend(_token_spans(text, head, body))
        runs = runs.lower()
        for form in NAMED_IN_RUN:
            if any(map(runs.__contains__, form.name_endings)):
                spans.extend(_named_spans(text, lowered, form, form.secret_pattern))
    endings = {
        ending
        for part, endings_with_part in _NAME_ENDINGS_BY_PART
        if part in lowered
        for ending in endings_with_part
        if ending in lowered
    }
    for form in NAMED_ELSEWHERE if endings else ():
        if not endings.isdisjoint(form.name_endings) and (
            not form.required_words or any(map(lowered.__contains__, form.required_words))
        ):
            spans.extend(_named_spans(text, lowered, form, form.secret_pattern))
    if _PEM_HEAD in text:
        spans.extend(match.span() for match in _PEM.finditer(text))
    return merged_spans(spans) if spans else spans


def _is_suspect(run: str) -> bool:
    """Return whether a run of the characters of tokens may hold one."""
    return (_has_suspect_part_cached if len(run) <= MAX_CACHED_CHARS else _has_suspect_part)(run)


def _has_suspect_part(run: str) -> bool:
    return _SUSPECT.search(run) is not None


# Runs such as paths and names recur in the outputs of a session.
_has_suspect_part_cached = lru_cache(maxsize=4_096)(_has_suspect_part)


def unfinished_secret_start(text: str) -> int:
    """Return the position from which the end of an unfinished text may still become a secret; else its length."""
    secret_start = len(text)
    search_start = max(0, secret_start - MAX_SECRET_CHARS)
    for form in TOKENS:
        secret_start = min(secret_start, _open_token_start(text, form, search_start))
    # A secret with a name has at most MAX_NAMED_CHARS characters, its name included.
    tail = text[-MAX_NAMED_CHARS:]
    lowered = _lower_case(tail)
    for named_form in NAMED_FORMS:
        for begin, _ in _named_spans(tail, lowered, named_form, named_form.open_pattern):
            secret_start = min(secret_start, len(text) - len(tail) + begin)
    return min(secret_start, _open_private_key_start(text, search_start))


def is_secret_variable(name: str) -> bool:
    """Return whether the name of a variable, a column or a table's key marks its value as a secret."""
    lowered = _WORD_BREAK.sub("_", name).lower() if len(name) <= MAX_VARIABLE_CHARS else ""
    return _SECRET_WORDS.search(lowered) is not None


def _lower_case(text: str) -> str:
    """Return the text in lower case, with every character at its position."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(character.lower() if character.isascii() else character for character in text)


def _named_spans(
    text: str, lowered: str, form: NamedForm, value_pattern: "re.Pattern[str]"
) -> Iterator[Span]:
    for ending in form.name_endings:
        position = lowered.find(ending)
        while position >= 0:
            value_start = position + len(ending)
            search_start = max(0, value_start - form.chars_before)
            name_match = form.pattern_before.search(lowered, search_start, value_start)
            match = value_pattern.match(text, value_start) if name_match is not None else None
            if name_match is not None and match is not None:
                yield (name_match if name_match.re.groups else match).start(1), match.end(1)
                value_start = max(value_start, match.end(1))
            position = lowered.find(ending, value_start)


def merged_spans(spans: list[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    joined_spans: list[Span] = []
    for begin, end in sorted(spans):
        if joined_spans and begin < joined_spans[-1][1]:
            joined_spans[-1] = (joined_spans[-1][0], max(end, joined_spans[-1][1]))
        else:
            joined_spans.append((begin, end))
    return joined_spans


def _token_spans(text: str, head: str, body: "re.Pattern[str]") -> Iterator[Span]:
    position = text.find(head)
    while position >= 0:
        body_start = position + len(head)
        match = body.match(text, body_start) if _begins_word(text, position) else None
        if match is not None:
            yield position, match.end()
            body_start = match.end()
        position = text.find(head, body_start)


def _open_token_start(text: str, form: TokenForm, search_start: int) -> int:
    """Return where a token of this form, which may still grow, begins at the end of the text; else its length."""
    body_start = None
    for head in form.beginnings:
        position = text.find(head, search_start)
        if position < 0:
            continue
        if body_start is None:
            body_start = max(len(text.rstrip(form.body_characters)), search_start)
        position = text.find(head, max(search_start, body_start - len(head)))
        while position >= 0:
            if position + len(head) >= body_start and _begins_word(text, position):
                return position
            position = text.find(head, position + 1)
    return len(text)


def _open_private_key_start(text: str, search_start: int) -> int:
    """Return where a private key that may still grow begins at the end of the text; else its length."""
    position = text.rfind(_PEM_HEAD, search_start)
    if position < 0 or len(text[position:].rstrip(_PEM_CHARS)) > 0:
        return len(text)
    if (open_match := _PEM_OPEN.match(text, position)) is None:
        # The title of a block is not complete yet.
        return position if "-----" not in text[position + len(_PEM_HEAD) :] else len(text)
    is_closed = "-----END " in text[open_match.end() :] and text.rstrip().endswith("-----")
    return len(text) if is_closed else position


def _begins_word(text: str, position: int) -> bool:
    """Return whether a word begins here; an escaped line break before it is no letter."""
    if position == 0 or text[position - 1] not in LETTERS_DIGITS:
        return True
    return position >= 2 and _ESCAPED.match(text, position - 2) is not None


def scrub_values(text: str, values: Iterable[str]) -> str:
    """Replace exact values only, in a text that must otherwise stay unchanged."""
    for value in values:
        if value and value in text:
            text = text.replace(value, REDACTED)
    return text


def scrub(text: str, values: Iterable[str] = ()) -> str:
    """Replace exact values, and all text in the form of a secret; a second call changes nothing."""
    secret_values = tuple(values)
    if len(text) <= MAX_CACHED_CHARS:
        return _scrubbed_cached(text, secret_values)
    return _scrubbed(text, secret_values)


def _scrubbed(text: str, values: tuple[str, ...]) -> str:
    return redact_spans(text, redaction_spans(text, values))


# Names, paths and descriptions of tools recur in every request.
_scrubbed_cached = lru_cache(maxsize=4_096)(_scrubbed)


def redaction_spans(text: str, values: Iterable[str] = ()) -> list[Span]:
    """Return the spans of known values and of forms of secrets, in order."""
    spans = secret_spans(text)
    for value in values:
        position = text.find(value) if value else -1
        while position >= 0:
            spans.append((position, position + len(value)))
            position = text.find(value, position + len(value))
    return merged_spans(spans) if spans else spans


def redact_spans(text: str, spans: Iterable[Span]) -> str:
    """Return the text with ``[redacted]`` in place of each span."""
    pieces, position = [], 0
    for begin, end in spans:
        pieces += [text[position:begin], REDACTED]
        position = end
    return "".join([*pieces, text[position:]]) if pieces else text


MIN_BEGINNING_CHARS = 4
"""Minimum characters of a known value's beginning that are held back; shorter ones are common to many words."""


class SecretStream:
    """Takes the pieces of one text in order and returns what may be shown of it.

    Responsibilities: hold back the end while it may grow into a secret; remember enough of the released
    text to recognise a secret that begins in it.
    """

    def __init__(self) -> None:
        self._held_text = ""
        """The end of the released text, and all text that is held back."""
        self._released_chars = 0
        """Number of characters of ``_held_text`` that were released."""

    @property
    def half_surrogate(self) -> str:
        """The first half of a surrogate pair, where nothing else is held back."""
        unfinished = self._held_text[self._released_chars :]
        return open_surrogate(unfinished) if len(unfinished) == 1 else ""

    def redact_piece(self, piece: str, values: Iterable[str] = ()) -> str:
        """Take the next piece; return the text that can be released now, with secrets redacted."""
        secret_values = tuple(values)
        text = self._held_text + piece
        # Released text has no lone surrogates, so its length stays the same.
        open_half = open_surrogate(text)
        text = joined_surrogates(text.removesuffix(open_half)) + open_half
        release_end = min(unfinished_secret_start(text), _open_value_start(text, secret_values))
        if len(text) - release_end > MAX_SECRET_CHARS:
            release_end = len(text)
        release_end = min(release_end, len(text) - len(open_half))
        return self._released_text(text, max(release_end, self._released_chars), secret_values)

    def _released_text(self, text: str, release_end: int, values: tuple[str, ...]) -> str:
        begin, spans = self._released_chars, redaction_spans(text, values)
        for first, last in spans:
            if first < release_end < last:
                release_end = max(first, begin)
        cut_at = max(0, release_end - KEPT_RELEASED_CHARS)
        self._held_text, self._released_chars = text[cut_at:], release_end - cut_at
        inside = [(max(first, begin), last) for first, last in spans if last > begin]
        shifted = [(first - begin, last - begin) for first, last in inside if last <= release_end]
        return redact_spans(text[begin:release_end], shifted)


def _open_value_start(text: str, values: Iterable[str]) -> int:
    """Return where the beginning of a known value stands at the end of the text; else its length."""
    value_start = len(text)
    for value in values:
        longest = min(len(value) - 1, len(text))
        for length in range(longest, MIN_BEGINNING_CHARS - 1, -1):
            if text.endswith(value[:length]):
                value_start = min(value_start, len(text) - length)
                break
    return value_start
