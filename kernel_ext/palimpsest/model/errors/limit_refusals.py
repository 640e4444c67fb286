"""Recognise a provider's error about a limit of a request: on pictures, pixels, bytes or tools.

Pure. There are as many wordings as servers, so this matches words and units instead of sentences: an error must be about
pictures (or the list of tools, or the size of the request), and about a measure. Errors about a damaged picture, an
unsupported type, a picture that is too small or not allowed, and limits that pass with time, are excluded.
Only real error fields may be passed in, as for ``overflow_detection``.
"""

import re
from dataclasses import dataclass
from typing import Literal

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.errors.overflow_detection import MAX_ERROR_CHARS, is_about_something_else

LimitKind = Literal["pictures", "side", "pixels", "picture_bytes", "request_bytes", "tools"]
"""The kind of limit that was exceeded; all but ``tools`` are fields of ``RequestLimits``."""

OTHER_STATUSES = frozenset({401, 402, 403, 404, 408, 409, 425, 429})
"""Statuses of refusals that are not about a request's content."""
TOO_LARGE_STATUS = 413
"""A refusal with this status is about the size of the request, regardless of its text."""
NO_BODY = lazy_pattern(r"\b413\b.{0,40}\(no body\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """A refused limit, and the numbers in the refusal that may be its maximum."""

    kind: LimitKind
    numbers: tuple[int, ...] = ()
    """Numbers in the unit of the kind, first those that follow a word such as ``at most``."""
    stated_count: int = 0
    """Number of the first ``numbers`` that follow such a word."""

    def maximum_below(self, sent_amount: int) -> int:
        """Return the maximum where ``sent_amount`` was too much: the named number, or else half of ``sent_amount``."""
        stated_numbers = self.numbers[: self.stated_count]
        if smaller := [number for number in stated_numbers if 0 < number < sent_amount]:
            return min(smaller)
        smaller = [number for number in self.numbers if 0 < number < sent_amount]
        return max(smaller, default=max(1, sent_amount // 2))


_IGNORE_CASE = re.IGNORECASE
PICTURE = lazy_pattern(
    r"\bimages?\b|image_url|\bpictures?\b|\bphotos?\b|\bmedia\b|\bmulti-?modal\b|inline_?data\b"
    r"|\battachments?\b|图片|图像",
    _IGNORE_CASE,
)
NOT_ABOUT_AMOUNT = lazy_pattern(
    r"not (?:support|accept|allow)\w*(?! (?:more|over|requests? (?:with|of)))|unsupported|n't support"
    r"|(?:could|can) ?not (?:be )?(?:process|download|fetch|decod|read|load|identif|open|access)|unable to"
    r"|corrupt|damaged|truncated|failed to|invalid (?:base64|image|url|data|media)|not a valid"
    r"|(?:image|media|file|mime)[ _-]?(?:format|type)|policy|moderation|safety|unsafe|blocked"
    r"|\btokens?\b|context (?:length|window)|too small|\bminimum\b|smaller than|must be (?:larger|greater|at least)|per (?:minute|hour|day|second)",
    _IGNORE_CASE,
)
"""Errors about a picture that are not about an amount."""
LIMIT_WORD = lazy_pattern(
    r"exceed|\bmax(?:imum)?\b|\blimit|\btoo (?:many|much|large|big|long|wide|high)|at most|more than|up to"
    r"|larger than|greater than|\bonly\b|allowed|>|≤|<=|超|最多|过大",
    _IGNORE_CASE,
)
PIXELS = lazy_pattern(
    r"(?:total|number of|count of|many) pixels|pixel count|mega-?pixel|= ?\d{1,12} pixels",
    _IGNORE_CASE,
)
SIDE_WORD = lazy_pattern(
    r"\bpixels?\b|\d ?px\b|dimension|resolution|\bwidth\b|\bheight\b|像素|尺寸|分辨率", _IGNORE_CASE
)
PICTURE_NOUNS = r"(?:images?|pictures?|photos?|media|attachments?|multi-?modal items?)"
PICTURE_COUNT = lazy_pattern(
    rf"too (?:many|much) (?:\w{{1,20}} ){{0,2}}{PICTURE_NOUNS}|number of (?:\w{{1,20}} ){{0,2}}{PICTURE_NOUNS}|{PICTURE_NOUNS}[ _](?:count|number)"
    rf"|\b\d{{1,9}} (?:\w{{1,20}} )?{PICTURE_NOUNS}(?:\(s\))?|{PICTURE_NOUNS}\D{{0,20}}\d{{1,9}} per (?:request|prompt|message)"
    r"|张|数量",
    _IGNORE_CASE,
)
BYTES = lazy_pattern(
    r"\bbytes?\b|\d ?[kmg]i?b\b|\bsize\b|payload|\blarge\b|\bbig\b|too long|base64|过大",
    _IGNORE_CASE,
)
WHOLE_REQUEST = lazy_pattern(
    r"request_too_large|entity too large|payload|(?:request|body|content|message)s?(?: \w{1,20}){0,3} (?:size|bytes|too large|exceed)"
    r"|size of (?:the |your )?request|total (?:\w{1,20} ){0,3}size|together|combined",
    _IGNORE_CASE,
)
TOOLS = lazy_pattern(
    r"too many (?:\w{1,20} )?(?:tools|functions|function declarations)|\btools\W+array too long"
    r"|(?:number of|more than \d{1,9}|at most \d{1,9}|up to \d{1,9}|max(?:imum)?(?: \w{1,20}){0,3}) (?:tools|functions|function declarations)"
    r"|\b\d{1,9} (?:tools|functions|function declarations)\b.{0,60}(?:exceed|max|limit|at most|more than|allowed)"
    r"|(?:tools|functions|function declarations)\b.{0,30}(?:exceed|at most|no more than|maximum (?:length|number|of))",
    _IGNORE_CASE | re.DOTALL,
)
SINGLE_TOOL = lazy_pattern(r"tools?[\[.]\d|functions?[\[.]\d|\bschema\b|description", _IGNORE_CASE)
"""Errors about a single tool."""
REQUEST_PATH = lazy_pattern(
    r"\b(?:messages|contents?|tools|parts|input|items)(?:\.\d+|\[\d+\])(?:\.\w+|\[\d+\])*",
    _IGNORE_CASE,
)
"""A path into the request, whose numbers are no limits."""
NUMBER = lazy_pattern(
    r"(?<![\w.])(\d[\d,_]{0,20}(?:\.\d{1,9})?)\s*(k|ki?b|mi?b|gi?b|mp|mega-?pixels?)?(?![\w-]{0,40}\d)",
    _IGNORE_CASE,
)
STATED_LIMIT = lazy_pattern(
    r"(?:exceed\w*|max(?:imum)?|limit\w*|at most|more than|up to|allowed|larger than|greater than|only|supports?|>|≤|<=)"
    r"\D{0,60}?$",
    _IGNORE_CASE,
)
MAX_SEARCHED_CHARS = 80
"""Characters before a number that are searched for a word that marks it as a maximum."""
UNITS = {"k": 1_000, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "mp": 1_000_000}
UNITS |= {"kib": 1_024, "mib": 1_048_576, "gib": 1_073_741_824}


def named_limit(message: str, status: int | None = None) -> NamedLimit | None:
    """Return the limit that an error names as exceeded; None for any other error."""
    if status in OTHER_STATUSES:
        return None
    text = REQUEST_PATH.sub(" ", message[:MAX_ERROR_CHARS])
    limit_kind = None if is_about_something_else(text) else _kind(text, message[:MAX_ERROR_CHARS])
    if limit_kind is None and (status == TOO_LARGE_STATUS or NO_BODY.search(text)):
        limit_kind = "request_bytes"
    if limit_kind is None:
        return None
    stated_numbers, other_numbers = _numbers(text)
    return NamedLimit(limit_kind, (*stated_numbers, *other_numbers), len(stated_numbers))


def _kind(text: str, message: str) -> LimitKind | None:
    if TOOLS.search(text) and not SINGLE_TOOL.search(message):
        return "tools"
    if PICTURE.search(message) is None:
        return "request_bytes" if WHOLE_REQUEST.search(text) and LIMIT_WORD.search(text) else None
    if LIMIT_WORD.search(text) is None or NOT_ABOUT_AMOUNT.search(text):
        return None
    if PIXELS.search(text):
        return "pixels"
    if SIDE_WORD.search(text):
        return "side"
    if WHOLE_REQUEST.search(text) and BYTES.search(text):
        return "request_bytes"
    has_byte_count = re.search(r"\d ?[kmg]i?b\b|\bbytes\b", text, _IGNORE_CASE) is not None
    if not has_byte_count and PICTURE_COUNT.search(text):
        return "pictures"
    return "picture_bytes" if BYTES.search(text) else None


def _numbers(text: str) -> tuple[list[int], list[int]]:
    """Return the numbers that follow a word which states a limit, and the other numbers."""
    stated_numbers: list[int] = []
    other_numbers: list[int] = []
    for match in NUMBER.finditer(text):
        value = float(match[1].replace(",", "").replace("_", ""))
        unit = (match[2] or "").lower().replace("-", "")
        number = round(value * UNITS.get("mp" if unit.startswith("mega") else unit, 1))
        text_before = text[max(0, match.start() - MAX_SEARCHED_CHARS) : match.start()]
        (stated_numbers if STATED_LIMIT.search(text_before) else other_numbers).append(number)
    return stated_numbers, other_numbers
