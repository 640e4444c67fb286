"""Find text that has the form of a secret, by the tables of forms, for the log, displays, exports and requests.

Border: pure; names of environment variables and the values they hold are in ``transcript/redaction/secret_removal.py``. Every
search is linear: a literal beginning is looked for first, and what follows it is matched without
backtracking. ``unfinished_secret_start`` returns from where on an unfinished text may still become a secret,
so that a key which arrives in pieces is not written before it is recognised.
"""

import re
from collections.abc import Iterator

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.redaction.named_forms import CODE, NAMED, NAMES, PLACEHOLDER, NamedForm
from palimpsest.transcript.redaction.token_forms import LETTERS_DIGITS, TOKENS, TokenForm

MOST_GROWING = 16_384
"""Characters: the longest private key in use takes 6,400; what is longer is no key."""

LONGEST_NAMED = 2_000
"""Characters of a name, what stands between, and its value."""

SHORTEST_TEXT = 7
"""Characters; the shortest secret with its name is an address with one letter as password."""

CONTEXT = 200
"""Characters before a piece of text, in which a secret may begin that the piece continues."""

_FIELD = lazy_pattern(rf"""{PLACEHOLDER}{CODE}[^\s"'\\]+""")
_CAMEL = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]")
_SECRET_WORDS = lazy_pattern(
    r"(?:^|_)(?:passwords?|passwd|passphrase|pwd|pw|secrets?|credentials?|creds|token|tokens|jwt|bearer|otp"
    r"|dsn|webhook|cookies?|apikeys?|authorization|connection_string|conn_str"
    r"|(?:api|access|secret|private|auth|encryption|signing|ssh|account|master|app|service)_?keys?"
    r"|(?:openai|anthropic|azure|aws|gcp|google|github|hf|stripe|mistral|groq|gemini)_?keys?)(?:$|_|\d)"
)
_BEGIN = "-----BEGIN "
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

HEADS = tuple((head, form.body) for form in TOKENS for head in form.heads)

Span = tuple[int, int]


def secret_spans(text: str) -> list[Span]:
    """Return where secrets stand, in order and without overlaps."""
    if len(text) < SHORTEST_TEXT:
        return []
    found: list[Span] = []
    for head, body in HEADS:
        if head in text:
            found.extend(_token_spans(text, head, body))
    lowered = _lowered(text)
    for named in NAMED:
        if any(map(lowered.__contains__, named.hints)):
            found.extend(_named_spans(text, lowered, named, named.whole))
    if _BEGIN in text:
        found.extend(match.span() for match in _PEM.finditer(text))
    return merged_spans(found) if found else found


def unfinished_secret_start(text: str) -> int:
    """Return the position from which an unfinished text may still become a secret; its length if none."""
    first = len(text)
    window = max(0, first - MOST_GROWING)
    for form in TOKENS:
        first = min(first, _token_growing(text, form, window))
    # Nothing named reaches further back than its name and the longest value that is waited for.
    tail = text[-LONGEST_NAMED:]
    lowered = _lowered(tail)
    for named in NAMED:
        for begin, _ in _named_spans(tail, lowered, named, named.open):
            first = min(first, len(text) - len(tail) + begin)
    return min(first, _pem_growing(text, window))


def is_secret_variable(name: str) -> bool:
    """Tell whether the name of a variable, a column or a key in a table says that it is a secret."""
    words = _CAMEL.sub("_", name).lower() if len(name) <= 200 else ""
    return _SECRET_WORDS.search(words) is not None


def is_secret_field(name: object, value: str) -> bool:
    """Tell whether a field's name says that its value is a secret, as it does in text."""
    if not isinstance(name, str) or len(name) > 60 or len(value) < 8 or len(value) > 400:
        return False
    return NAMES.search(name.lower()) is not None and _FIELD.fullmatch(value) is not None


def _lowered(text: str) -> str:
    """Return the text in lower case, with every character at its position."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(one.lower() if one.isascii() else one for one in text)


def _named_spans(
    text: str, lowered: str, form: NamedForm, value: "re.Pattern[str]"
) -> Iterator[Span]:
    for hint in form.hints:
        at = lowered.find(hint)
        while at >= 0:
            after = at + len(hint)
            named = form.before.search(lowered, max(0, after - form.reach), after)
            match = value.match(text, after) if named is not None else None
            if named is not None and match is not None:
                yield (named if named.re.groups else match).start(1), match.end(1)
                after = max(after, match.end(1))
            at = lowered.find(hint, after)


def merged_spans(spans: list[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _token_spans(text: str, head: str, body: "re.Pattern[str]") -> Iterator[Span]:
    at = text.find(head)
    while at >= 0:
        after = at + len(head)
        match = body.match(text, after) if _begins(text, at) else None
        if match is not None:
            yield at, match.end()
            after = match.end()
        at = text.find(head, after)


def _token_growing(text: str, form: TokenForm, window: int) -> int:
    run = None
    for head in form.heads:
        at = text.find(head, window)
        if at < 0:
            continue
        if run is None:
            run = max(len(text.rstrip(form.chars)), window)
        at = text.find(head, max(window, run - len(head)))
        while at >= 0:
            if at + len(head) >= run and _begins(text, at):
                return at
            at = text.find(head, at + 1)
    return len(text)


def _pem_growing(text: str, window: int) -> int:
    at = text.rfind(_BEGIN, window)
    if at < 0 or len(text[at:].rstrip(_PEM_CHARS)) > 0:
        return len(text)
    if (opened := _PEM_OPEN.match(text, at)) is None:
        # The title of a block is not complete yet.
        return at if "-----" not in text[at + len(_BEGIN) :] else len(text)
    return (
        len(text) if "-----END " in text[opened.end() :] and text.rstrip().endswith("-----") else at
    )


def _begins(text: str, at: int) -> bool:
    """Tell whether a word begins here; an escaped line break before it is no letter."""
    if at == 0 or not text[at - 1].isascii() or text[at - 1] not in LETTERS_DIGITS:
        return True
    return _ESCAPED.match(text, at - 2) is not None if at >= 2 else False
