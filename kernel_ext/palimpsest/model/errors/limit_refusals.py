"""Recognise a provider's error that names what a request holds too much of: pictures, pixels, bytes or tools.

Pure. There are as many wordings as servers, so this reads words and units and knows no sentences: an error must be about
pictures (or the list of tools, or the size of the request), and about a measure. What is about a picture that is damaged,
of a type that is not taken, too small, or not allowed, is another matter, and so is a limit that passes with time.
Only real error fields may be passed in, as for ``overflow_detection``.
"""

import re
from dataclasses import dataclass
from typing import Literal

from palimpsest.model.errors.overflow_detection import LONGEST, is_about_something_else
from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

LimitKind = Literal["pictures", "side", "pixels", "picture_bytes", "request_bytes", "tools"]
"""What there is too much of; all but ``tools`` are fields of ``RequestLimits``."""

OTHER_STATUS = frozenset({401, 402, 403, 404, 408, 409, 425, 429})
"""Statuses of refusals that are not about what a request holds."""
TOO_LARGE = 413
NO_WORDS = lazy_pattern(r"\b413\b.{0,40}\(no body\)", re.IGNORECASE)
"""A refusal with this status is about the size of the request, whatever it says."""


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """What a provider refused, and the numbers that it may have named as the most that it takes."""

    kind: LimitKind
    numbers: tuple[int, ...] = ()
    """The ones that stand behind a word such as ``at most`` first, in the unit of the kind."""
    stated: int = 0
    """How many of them do."""

    def most(self, sent: int) -> int:
        """Return the most that is taken, where ``sent`` was too much: the number that was named, or half of what was sent."""
        stated = [one for one in self.numbers[: self.stated] if 0 < one < sent]
        if stated:
            return min(stated)
        below = [one for one in self.numbers if 0 < one < sent]
        return max(below) if below else max(1, sent // 2)


_I = re.IGNORECASE
PICTURE = lazy_pattern(
    r"\bimages?\b|image_url|\bpictures?\b|\bphotos?\b|\bmedia\b|\bmulti-?modal\b|inline_?data\b"
    r"|\battachments?\b|图片|图像",
    _I,
)
ABOUT_KIND = lazy_pattern(
    r"not (?:support|accept|allow)\w*(?! (?:more|over|requests? (?:with|of)))|unsupported|n't support"
    r"|(?:could|can) ?not (?:be )?(?:process|download|fetch|decod|read|load|identif|open|access)|unable to"
    r"|corrupt|damaged|truncated|failed to|invalid (?:base64|image|url|data|media)|not a valid"
    r"|(?:image|media|file|mime)[ _-]?(?:format|type)|policy|moderation|safety|unsafe|blocked"
    r"|\btokens?\b|context (?:length|window)|too small|\bminimum\b|smaller than|must be (?:larger|greater|at least)|per (?:minute|hour|day|second)",
    _I,
)
"""Errors about a picture that are not about how much there is."""
MEASURE = lazy_pattern(
    r"exceed|\bmax(?:imum)?\b|\blimit|\btoo (?:many|much|large|big|long|wide|high)|at most|more than|up to"
    r"|larger than|greater than|\bonly\b|allowed|>|≤|<=|超|最多|过大",
    _I,
)
PIXELS = lazy_pattern(
    r"(?:total|number of|count of|many) pixels|pixel count|mega-?pixel|= ?\d{1,12} pixels", _I
)
SIDE = lazy_pattern(
    r"\bpixels?\b|\d ?px\b|dimension|resolution|\bwidth\b|\bheight\b|像素|尺寸|分辨率", _I
)
THINGS = r"(?:images?|pictures?|photos?|media|attachments?|multi-?modal items?)"
COUNT = lazy_pattern(
    rf"too (?:many|much) (?:\w{{1,20}} ){{0,2}}{THINGS}|number of (?:\w{{1,20}} ){{0,2}}{THINGS}|{THINGS}[ _](?:count|number)"
    rf"|\b\d{{1,9}} (?:\w{{1,20}} )?{THINGS}(?:\(s\))?|{THINGS}\D{{0,20}}\d{{1,9}} per (?:request|prompt|message)"
    r"|张|数量",
    _I,
)
BYTES = lazy_pattern(
    r"\bbytes?\b|\d ?[kmg]i?b\b|\bsize\b|payload|\blarge\b|\bbig\b|too long|base64|过大", _I
)
WHOLE_REQUEST = lazy_pattern(
    r"request_too_large|entity too large|payload|(?:request|body|content|message)s?(?: \w{1,20}){0,3} (?:size|bytes|too large|exceed)"
    r"|size of (?:the |your )?request|total (?:\w{1,20} ){0,3}size|together|combined",
    _I,
)
TOOLS = lazy_pattern(
    r"too many (?:\w{1,20} )?(?:tools|functions|function declarations)|\btools\W+array too long"
    r"|(?:number of|more than \d{1,9}|at most \d{1,9}|up to \d{1,9}|max(?:imum)?(?: \w{1,20}){0,3}) (?:tools|functions|function declarations)"
    r"|\b\d{1,9} (?:tools|functions|function declarations)\b.{0,60}(?:exceed|max|limit|at most|more than|allowed)"
    r"|(?:tools|functions|function declarations)\b.{0,30}(?:exceed|at most|no more than|maximum (?:length|number|of))",
    _I | re.DOTALL,
)
ONE_TOOL = lazy_pattern(r"tools?[\[.]\d|functions?[\[.]\d|\bschema\b|description", _I)
"""Errors about one of the tools."""
PLACE = lazy_pattern(
    r"\b(?:messages|contents?|tools|parts|input|items)(?:\.\d+|\[\d+\])(?:\.\w+|\[\d+\])*", _I
)
"""Where something stands in the request, which holds numbers, too."""
NUMBER = lazy_pattern(
    r"(?<![\w.])(\d[\d,_]{0,20}(?:\.\d{1,9})?)\s*(k|ki?b|mi?b|gi?b|mp|mega-?pixels?)?(?![\w-]{0,40}\d)",
    _I,
)
STATED = lazy_pattern(
    r"(?:exceed\w*|max(?:imum)?|limit\w*|at most|more than|up to|allowed|larger than|greater than|only|supports?|>|≤|<=)"
    r"\D{0,60}?$",
    _I,
)
BEHIND = 80
"""Characters before a number in which a word says that it is the most that is taken."""
UNITS = {"k": 1_000, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "mp": 1_000_000}
UNITS |= {"kib": 1_024, "mib": 1_048_576, "gib": 1_073_741_824}


def named_limit(message: str, status: int | None = None) -> NamedLimit | None:
    """Return what an error says that a request holds too much of; None for every other error."""
    if status in OTHER_STATUS:
        return None
    told = PLACE.sub(" ", message[:LONGEST])
    kind = None if is_about_something_else(told) else _kind(told, message[:LONGEST])
    if kind is None and (status == TOO_LARGE or NO_WORDS.search(told)):
        kind = "request_bytes"
    if kind is None:
        return None
    stated, others = _numbers(told)
    return NamedLimit(kind, (*stated, *others), len(stated))


def _kind(told: str, whole: str) -> LimitKind | None:
    if TOOLS.search(told) and not ONE_TOOL.search(whole):
        return "tools"
    if PICTURE.search(whole) is None:
        return "request_bytes" if WHOLE_REQUEST.search(told) and MEASURE.search(told) else None
    if MEASURE.search(told) is None or ABOUT_KIND.search(told):
        return None
    if PIXELS.search(told):
        return "pixels"
    if SIDE.search(told):
        return "side"
    if WHOLE_REQUEST.search(told) and BYTES.search(told):
        return "request_bytes"
    if re.search(r"\d ?[kmg]i?b\b|\bbytes\b", told, _I) is None and COUNT.search(told):
        return "pictures"
    return "picture_bytes" if BYTES.search(told) else None


def _numbers(told: str) -> tuple[list[int], list[int]]:
    """Return the numbers behind a word that states a limit, and the others."""
    stated: list[int] = []
    others: list[int] = []
    for found in NUMBER.finditer(told):
        value = float(found[1].replace(",", "").replace("_", ""))
        unit = (found[2] or "").lower().replace("-", "")
        number = round(value * UNITS.get("mp" if unit.startswith("mega") else unit, 1))
        before = told[max(0, found.start() - BEHIND) : found.start()]
        (stated if STATED.search(before) else others).append(number)
    return stated, others
