"""Find passwords of several words that a line of output assigns to a secret's name, without quotes.

For a shell the second word of ``PASSWORD=a b`` is a command, so a question never hides it (``named_forms.py``). What a
tool returned is only read, so in an output the value extends to the end of its line. Border: pure, and for outputs only;
docs/security.md describes the rule.
"""

import re

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.redaction.secret_names import is_secret_name

MAX_WORDS = 24
"""Maximum words of a password."""
MAX_WORD_CHARS = 80

_COLOUR = r"(?:\x1b\[[0-9;]*m)*+"
_PASSWORD = lazy_pattern(
    r"(?:\A|[_.-])(?:(?:db|pg|my|user|root|admin|smtp|mail|login|sudo)?(?:password|passwd|passphrase|passcode|pwd)|secret)\Z"
    r"|[a-z](?:Password|Passwd|Passphrase|Passcode|Secret)\Z|[_.-]pass\Z",
    re.IGNORECASE,
)
_ASSIGNED = lazy_pattern(
    rf"(?:(?<![\w$@/])|(?<=[0-9;\[]m))(?P<name>[A-Za-z][\w.-]{{1,60}})(?:\*\*|[\"'\]`])?{_COLOUR}"
    rf"(?P<sign>[ \t]{{0,40}}(?:=>|:=|=|:(?![:/]))(?:\*\*)?)(?P<blanks>[ \t]{{0,4}}){_COLOUR}"
)
_PASSWORD_WORDS = ("pass", "pwd", "secret")
"""Of these one is in every name that ``_PASSWORD`` matches."""
_PASSWORD_SIGN = lazy_pattern(
    rf"(?:word|wd|phrase|code|secret|pass)(?:\*\*|[\"'\]`])?{_COLOUR}[ \t]{{0,40}}+[=:]",
    re.IGNORECASE,
)
"""Matches the end of every name that ``_PASSWORD`` matches, and the sign after it."""
_CAPITALS = lazy_pattern(rf"[A-Z][A-Z0-9_.\x80-\U0010ffff-]{{1,60}}+(?:\*\*|[\"'\]`])?{_COLOUR}=")
"""Matches a name without small letters before ``=``, the only other name whose value may be hidden."""
_VALUE = lazy_pattern(r"[^\s\"'`\\][^\r\n\"'`\\]{0,2000}+")
_YAML_BLOCK = lazy_pattern(
    r"(?m)^[ \t-]{0,40}(?P<name>[A-Za-z][\w.-]{1,60})[ \t]{0,4}:[ \t]{1,4}[|>][+-]?[ \t]*\r?\n"
    r"(?P<value>(?:[ \t]{1,40}[^\r\n]{1,400}(?:\r?\n|\Z)){1,8}+)"
)
_WORD = lazy_pattern(rf"[^\s(){{}}\[\]<>|;=,$\"'`\\]{{1,{MAX_WORD_CHARS}}}+")
_LINE_END = lazy_pattern(r"(?:[ \t]+#.*|[ \t]+)\Z")
"""Matches a comment, or spaces, at the end of a line."""
_NEXT_ASSIGNMENTS = lazy_pattern(r"[ \t]+[A-Za-z_][\w.-]*=\S.*\Z")
"""Matches the assignments to other names that follow on the same line."""
_SENTENCE = lazy_pattern(
    r"\b(?:a(?=\s+\w{3})|an|and|are|as|at|be|been|by|can|cannot|could|do|does|for|from|had|has|have|how|if|in|is|it|its|may|must|no|not"
    r"|of|on|or|our|please|shall|should|so|than|that|the|their|then|this|to|too|was|were|when|where|which|will|with|you|your"
    r"|accepted|admin|argument|bool|bytes|changed|characters|chars|check|choose|click|contact|default|denied|digits|empty|enter"
    r"|expired|failed|field|forgot|hashed|here|hidden|incorrect|int|invalid|length|login|long|match|max|min|missing|need|needs"
    r"|new|none|null|ok|old|only|option|optional|passwords?|policy|prompt|required|reset|secret|see|set|short|str|string|strong|type"
    r"|unset|updated|use|used|user|username|value|weak|wrong)\b",
    re.IGNORECASE,
)
_NUMBER = lazy_pattern(r"[\d.,:/%-]+")
_CODE_WORDS = frozenset({"if", "else", "or", "and", "not", "in", "is", "await", "lambda", "for", "+", "-", "*", "/", "%", "==", "!=", "->", "&&", "||"})  # fmt: skip

Span = tuple[int, int]


def assigned_spans(text: str) -> list[Span]:
    """Return the spans of passwords of several words in an output, in order."""
    if not _may_assign(text):
        return []
    spans = []
    for match in _ASSIGNED.finditer(text):
        is_without_space = match["sign"] == "=" and not match["blanks"]
        if not _is_secret_name(match["name"], is_without_space=is_without_space):
            continue
        line = _VALUE.match(text, match.end())
        value = _LINE_END.sub("", line[0]) if line is not None else ""
        value = _NEXT_ASSIGNMENTS.sub("", value) if is_without_space else value
        if _has_several_words(value, is_without_space=is_without_space):
            spans.append((match.end(), match.end() + len(value)))
    for match in _YAML_BLOCK.finditer(text):
        value = match["value"].rstrip()
        if _is_secret_name(match["name"], is_without_space=False) and len(value.split()) > 1:
            begin = match.start("value") + len(value) - len(value.lstrip())
            spans.append((begin, match.start("value") + len(value)))
    return sorted(spans)


def _may_assign(text: str) -> bool:
    """Return whether a text may assign a password: a quick look, since few outputs name one."""
    if "=" not in text and ":" not in text:
        return False
    folded = text.casefold()
    if any(map(folded.__contains__, _PASSWORD_WORDS)) and _PASSWORD_SIGN.search(text) is not None:
        return True
    return "=" in text and _CAPITALS.search(text) is not None


def _is_secret_name(name: str, *, is_without_space: bool) -> bool:
    """Return whether a name is that of a password; in capitals and without spaces around ``=``, that of any secret."""
    if is_without_space and name.upper() == name:
        return is_secret_name(name)
    return _PASSWORD.search(name) is not None


def _has_several_words(value: str, *, is_without_space: bool) -> bool:
    """Return whether a value consists of several plain words, and is neither code nor a sentence."""
    words = value.split()
    if not 2 <= len(words) <= MAX_WORDS or value[0] in "/~*%&|!-":
        return False
    if not all(_WORD.fullmatch(word) for word in words):
        return False
    if any(word in _CODE_WORDS or word.startswith("--") for word in words[1:]):
        return is_without_space and "&" in words
    if all(_NUMBER.fullmatch(word) for word in words):
        return is_without_space
    return is_without_space or _SENTENCE.search(value) is None


def hide_in_growing_output(text: str) -> str:
    """Return a growing output as ``hide_assigned_passwords`` does, also without a password at its end that may still be incomplete."""
    begin = text.rfind("\n") + 1
    for match in _ASSIGNED.finditer(text, begin):
        is_without_space = match["sign"] == "=" and not match["blanks"]
        if _is_secret_name(match["name"], is_without_space=is_without_space):
            text = text[: match.end()]
            break
    return hide_assigned_passwords(text)


def hide_assigned_passwords(text: str) -> str:
    """Return an output with ``[redacted]`` for each password of several words; a second call changes nothing."""
    pieces, position = [], 0
    for begin, end in assigned_spans(text):
        if begin >= position:
            pieces += [text[position:begin], "[redacted]"]
            position = end
    return "".join([*pieces, text[position:]]) if pieces else text
