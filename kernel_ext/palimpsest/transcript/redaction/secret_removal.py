"""Remove secrets from texts, from texts that arrive in pieces, and from structured values such as events.

Border: pure; the values to remove are passed in. Two methods: exact values (the keys this kernel
holds) and forms of known keys (``transcript/redaction/secret_patterns.py``). Text that arrives in
pieces may be cut anywhere, also within a surrogate pair: what may still become a secret is held back
until that is decided, and so is the first half of a pair; everything else is released at once.

Of the value of a variable the whole is checked, so that a short password in an address counts too. In structured values, what providers signed or encrypted, ids and hashes stay
as they are: they are no text, and one changed character would invalidate them. A block whose signed text held a
secret loses its signature instead.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.parts import TextPart, ToolCompleted, ToolFailed, ToolRunning
from palimpsest.transcript.redaction.assigned_words import hide_assigned
from palimpsest.transcript.redaction.held_secrets import (
    HELD,
    SHORTEST_SECRET,
    is_worth_hiding,
)
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import (
    CONTEXT,
    MOST_GROWING,
    Span,
    is_secret_field,
    merged_spans,
    secret_spans,
    unfinished_secret_start,
)
from palimpsest.transcript.session_record.events import Checkpoint, Event, StepRequested
from palimpsest.transcript.strings.surrogates import PLAIN, joined_surrogates, open_surrogate

_ADDRESS = re.compile(r"://[^\s/:@\[]{0,256}:(?!\d{1,5}(?:[/?#]|\Z))[^\s@]{1,1024}@")
"""An address with a password; what follows a machine's name after a colon is its port."""
_SETTING = re.compile(
    r"""(?ix) (?: \A | [;,&?\s{"'] )
    (?: [a-z_]{0,24}[ _-]? (?: password | passwd | passphrase | secret | token | apikey | key ) | pwd | pass | sig )
    ["']? \s{0,4} [=:] \s{0,4} ["']? (?! (?:\s|\Z) ) [^\s;&"']{3,}"""
)
"""A part of a connection string: ``Password=``, ``AccountKey=``, ``SharedAccessKey=``."""

REDACTED = "[redacted]"

LONGEST_REMEMBERED = 500
"""Characters of a text; what shorter texts are without secrets is cached."""

FRESH_SECONDS = 1.0
"""How long values are reused: reading them takes 0.1 ms, and a streaming answer asks 25 times a second."""

__all__ = [
    "REDACTED",
    "Span",
    "holds_secret",
    "is_secret_name",
    "looks_secret",
    "redacted",
    "redaction_spans",
    "scrub",
    "scrub_output",
    "scrub_values",
    "secret_values",
]

Scrub = Callable[[str], str]

KEPT = frozenset({"id", "call_id", "role", "type", "status", "mime", "sha256", "hash", "snapshot", "share"})  # fmt: skip
"""Our fields that hold no text; ``share`` holds the unguessable name of a shared page."""

OPAQUE = frozenset({"data", "encrypted_content", "signature", "thought_signature", "thought_signatures"})  # fmt: skip
"""Provider data that must be sent back unchanged."""

THOUGHTS = "thinking_blocks"


def holds_password(value: str) -> bool:
    """Tell whether a value is an address or a connection string with a password in it, however short."""
    return _ADDRESS.search(value) is not None or (
        "=" in value
        and _SETTING.search(value) is not None
        and ("://" in value or ";" in value or " " in value)
    )


def looks_secret(value: str) -> bool:
    """Tell whether text has the form of a secret somewhere, such as an address with a password."""
    return bool(secret_spans(value))


def holds_secret(value: str) -> bool:
    """Tell whether the value of an environment variable is a secret, or has one in it."""
    return looks_secret(value) or holds_password(value)


def _is_passphrase(value: str) -> bool:
    """Tell whether a value of a secret name consists of words: a password with blanks, and no path or command."""
    return len(value) >= SHORTEST_SECRET and " " in value.strip() and value[0] not in "/~.-"


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Collect the values to hide from an environment and from the settings in effect, longest first."""
    return _collected(tuple(environment.items()), frozenset(HELD))


@lru_cache(maxsize=4)
def _collected(variables: tuple[tuple[str, str], ...], settings: frozenset[str]) -> tuple[str, ...]:
    named = {
        value
        for name, value in variables
        if is_secret_name(name) and (is_worth_hiding(value) or _is_passphrase(value))
    }
    held: set[str] = set()
    for _, value in variables:
        found = [value[begin:end] for begin, end in secret_spans(value)]
        held.update(one for one in found if len(one) >= SHORTEST_SECRET)
        if (found or holds_password(value)) and "://" in value and len(value) >= SHORTEST_SECRET:
            # The password alone may be too short to be looked for; the address with it is not.
            held.add(value)
    return tuple(sorted(named | held | settings, key=lambda value: (-len(value), value)))


def scrub_values(text: str, values: Iterable[str]) -> str:
    """Replace exact values; for text that must otherwise stay as it is."""
    for value in values:
        if value and value in text:
            text = text.replace(value, REDACTED)
    return text


def scrub(text: str, values: Iterable[str] = ()) -> str:
    """Replace exact values and whatever has the form of a secret; scrubbing twice changes nothing."""
    known = tuple(values)
    return _remembered(text, known) if len(text) <= LONGEST_REMEMBERED else _scrubbed(text, known)


def _scrubbed(text: str, values: tuple[str, ...]) -> str:
    return redacted(text, redaction_spans(text, values))


# Names, paths and descriptions of tools recur in every request.
_remembered = lru_cache(maxsize=4_096)(_scrubbed)


class KernelSecrets:
    """Returns the secret values of an environment, reading it again when they are older than a second; cleans texts."""

    def __init__(self, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self._environment = environment
        self._now = now
        self._read_at: float | None = None
        self._values: tuple[str, ...] = ()
        self._held = len(HELD)

    def __call__(self) -> tuple[str, ...]:
        """Return the values, longest first."""
        now, held = self._now(), len(HELD)
        old = self._read_at is None or now - self._read_at > FRESH_SECONDS
        if old or held != self._held:
            self._read_at, self._held = now, held
            # A cell may change the environment while it is read; then the next read gets it.
            with suppress(RuntimeError, KeyError):
                self._values = secret_values(dict(self._environment))
        return self._values

    def clean(self, text: str) -> str:
        """Return a text without secrets, known ones and those with the shape of one."""
        return scrub(text, self())


def scrub_output(text: str, values: Iterable[str] = ()) -> str:
    """Scrub what a tool or a server returned: passwords of several words go whole (``assigned_words.py``)."""
    return scrub(hide_assigned(text), values)


def scrubber(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that redacts the secrets of an environment, as it is now, in a text."""
    values = secret_values(environment)
    return lambda text: scrub(text, values)


def redaction_spans(text: str, values: Iterable[str] = ()) -> list[Span]:
    """Return where known values and forms of secrets stand, in order."""
    found = secret_spans(text)
    for value in values:
        at = text.find(value) if value else -1
        while at >= 0:
            found.append((at, at + len(value)))
            at = text.find(value, at + len(value))
    return merged_spans(found) if found else found


def redacted(text: str, found: Iterable[Span]) -> str:
    """Return the text with ``[redacted]`` in place of each span."""
    pieces, at = [], 0
    for begin, end in found:
        pieces += [text[at:begin], REDACTED]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


SHORTEST_BEGINNING = 4
"""Fewer letters of a known value tell nothing, and every other word ends like that."""


class SecretStream:
    """Takes the pieces of one text in order and returns what may be shown of it.

    Responsibilities: hold back the end while it may grow into a secret; remember enough of the released
    text to recognise a secret that begins in it.
    """

    def __init__(self) -> None:
        self._text = ""
        """The end of the released text, and all that is held back."""
        self._out = 0
        """How many characters of it were released."""

    @property
    def held(self) -> bool:
        """Whether something is held back."""
        return self._out < len(self._text)

    @property
    def half(self) -> str:
        """The first half of a surrogate pair, where nothing else is held back."""
        held = self._text[self._out :]
        return held if len(held) == 1 and held == open_surrogate(held) else ""

    def feed(self, piece: str, values: Iterable[str] = ()) -> str:
        """Take the next piece; return the text that can be released now, with secrets redacted."""
        known = tuple(values)
        text = self._text + piece
        # Released text has no lone surrogates, so its length stays the same.
        half = open_surrogate(text)
        text = joined_surrogates(text.removesuffix(half)) + half
        until = min(unfinished_secret_start(text), _value_growing(text, known))
        if len(text) - until > MOST_GROWING:
            until = len(text)
        until = min(until, len(text) - len(half))
        return self._take(text, max(until, self._out), known)

    def rest(self, values: Iterable[str] = ()) -> str:
        """Return what was held back; nothing more comes."""
        text = joined_surrogates(self._text)
        return self._take(text, len(text), tuple(values))

    def _take(self, text: str, until: int, values: tuple[str, ...]) -> str:
        begin, found = self._out, redaction_spans(text, values)
        for first, last in found:
            if first < until < last:
                until = max(first, begin)
        cut = max(0, until - CONTEXT)
        self._text, self._out = text[cut:], until - cut
        inside = [(max(first, begin), last) for first, last in found if last > begin]
        return redacted(text[begin:until], _shifted(inside, begin, until))


def _shifted(found: Iterable[Span], begin: int, until: int) -> list[Span]:
    return [(first - begin, last - begin) for first, last in found if last <= until]


def _value_growing(text: str, values: Iterable[str]) -> int:
    """Return where the beginning of a known value stands at the end of the text."""
    first = len(text)
    for value in values:
        longest = min(len(value) - 1, len(text))
        for length in range(longest, SHORTEST_BEGINNING - 1, -1):
            if text.endswith(value[:length]):
                first = min(first, len(text) - length)
                break
    return first


def redacted_event(event: Event, scrub: Scrub) -> Event:
    """Return the event without secrets; the same one where there are none."""
    match event:
        case Checkpoint():
            # It repeats the records before it, which are redacted.
            return event
        case StepRequested():
            parameters = redacted_value(event.request.parameters, scrub)
            if parameters is event.request.parameters:
                return event
            request = event.request.model_copy(update={"parameters": parameters})
            return event.model_copy(update={"request": request})
        case _:
            found: Event = redacted_value(event, scrub)
            return found


def redacted_value(value: Any, scrub: Scrub) -> Any:
    """Return the value without secrets; the same object where there are none."""
    if type(value) in PLAIN:
        return value
    match value:
        case str():
            found = value if value.startswith(("data:", "blob:")) else scrub(value)
            return value if found == value else found
        case BaseModel():
            return _model(value, scrub)
        case Mapping():
            return _mapping(value, scrub)
        case list() | tuple():
            items = [redacted_value(one, scrub) for one in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else type(value)(items)
        case _:
            return value


def _model(value: BaseModel, scrub: Scrub) -> BaseModel:
    update: dict[str, Any] = {}
    for name, held in _fields(value):
        if name in KEPT or name.endswith("_id"):
            continue
        shown = _without_assigned(value, name, held)
        new = _provided(shown, scrub) if name == "metadata" else redacted_value(shown, scrub)
        if new is not held:
            update[name] = new
    return value.model_copy(update=update) if update else value


def _without_assigned(value: BaseModel, name: str, held: Any) -> Any:
    """Return a field of an output without passwords of several words; the same object where there are none.

    What a call is asked to do is no output: a person must see what runs.
    """
    if isinstance(value, ToolCompleted | ToolFailed | ToolRunning):
        if name == "metadata" and isinstance(held.get("output"), str):
            output = hide_assigned(held["output"])
            return held if output == held["output"] else {**held, "output": output}
        is_output = name in ("output", "error")
    else:
        is_output = isinstance(value, TextPart) and value.synthetic and name == "text"
    if not is_output or not isinstance(held, str):
        return held
    found = hide_assigned(held)
    return held if found == held else found


def _fields(value: BaseModel) -> list[tuple[str, Any]]:
    return [*value.__dict__.items(), *(value.__pydantic_extra__ or {}).items()]


def _mapping(value: Mapping[str, Any], scrub: Scrub) -> Mapping[str, Any]:
    update: dict[str, Any] = {}
    for name, held in value.items():
        if isinstance(held, str) and is_secret_field(name, held):
            new: Any = REDACTED
        else:
            new = held if name in OPAQUE else redacted_value(held, scrub)
        if new is not held:
            update[name] = new
    names = {name: _name(name, scrub) for name in value}
    if any(new is not old for old, new in names.items()):
        return {names[name]: update.get(name, held) for name, held in value.items()}
    return {**value, **update} if update else value


def _name(name: Any, scrub: Scrub) -> Any:
    found = scrub(name) if isinstance(name, str) else name
    return name if found == name else found


def _provided(metadata: Any, scrub: Scrub) -> Any:
    """Redact a provider's metadata of a part; a thinking block that changes loses its signature."""
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get(THOUGHTS), list | tuple):
        return redacted_value(metadata, scrub)
    rest = redacted_value({k: v for k, v in metadata.items() if k != THOUGHTS}, scrub)
    blocks = [_thought(block, scrub) for block in metadata[THOUGHTS]]
    return {**rest, THOUGHTS: blocks}


def _thought(block: Any, scrub: Scrub) -> Any:
    found = redacted_value(block, scrub)
    if found is block or not isinstance(found, dict):
        return block
    return {name: held for name, held in found.items() if name != "signature"}
