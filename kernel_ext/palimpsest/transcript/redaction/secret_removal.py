"""Collect the secrets of a kernel, and remove secrets from structured values such as events.

Border: pure but for ``KernelSecrets``, which reads the environment it is given. ``transcript/redaction/secret_patterns.py``
finds and removes secrets in a text.

The whole value of a variable is checked, so that a short password in an address counts, too. In structured values, ids,
hashes and all that providers signed or encrypted stay unchanged: they are no text, and one changed character would
invalidate them. A block whose signed text contains a secret loses its signature instead.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache, partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.parts import TextPart, ToolCompleted, ToolFailed, ToolRunning
from palimpsest.transcript.redaction.assigned_words import hide_assigned_passwords
from palimpsest.transcript.redaction.held_secrets import (
    HELD_SECRETS,
    MIN_SECRET_CHARS,
    is_worth_hiding,
)
from palimpsest.transcript.redaction.named_forms import NOT_CODE_NAME, NOT_PLACEHOLDER, SECRET_NAMES
from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub, secret_spans
from palimpsest.transcript.session_record.events import Checkpoint, Event, StepRequested
from palimpsest.transcript.strings.surrogates import TEXTLESS_TYPES, with_joined_surrogates

_ADDRESS = re.compile(r"://[^\s/:@\[]{0,256}:(?!\d{1,5}(?:[/?#]|\Z))[^\s@]{1,1024}@")
"""An address with a password; what follows a machine's name after a colon is its port."""
_SETTING = re.compile(
    r"""(?ix) (?: \A | [;,&?\s{"'] )
    (?: [a-z_]{0,24}[ _-]? (?: password | passwd | passphrase | secret | token | apikey | key ) | pwd | pass | sig )
    ["']? \s{0,4} [=:] \s{0,4} ["']? (?! (?:\s|\Z) ) [^\s;&"']{3,}"""
)
"""A part of a connection string: ``Password=``, ``AccountKey=``, ``SharedAccessKey=``."""

_FIELD_VALUE = lazy_pattern(rf"""{NOT_PLACEHOLDER}{NOT_CODE_NAME}[^\s"'\\]+""")

MAX_FIELD_NAME_CHARS = 60
MAX_FIELD_VALUE_CHARS = 400
"""Maximum characters of a field's value that its name can mark as a secret."""

FRESH_SECONDS = 1.0
"""Time for which values are reused: reading them takes 0.1 ms, and a streaming answer needs them 25 times a second."""

Scrub = Callable[[str], str]

UNREDACTED_FIELDS = frozenset({"id", "call_id", "role", "type", "status", "mime", "sha256", "hash", "snapshot", "share"})  # fmt: skip
"""Our fields without text, which stay unchanged; ``share`` is the unguessable name of a shared page."""

OPAQUE_FIELDS = frozenset({"data", "encrypted_content", "signature", "thought_signature", "thought_signatures"})  # fmt: skip
"""Provider data that must be sent back unchanged."""

THINKING = "thinking_blocks"


def contains_password(value: str) -> bool:
    """Return whether a value is an address or a connection string with a password in it, however short."""
    return _ADDRESS.search(value) is not None or (
        "=" in value
        and _SETTING.search(value) is not None
        and ("://" in value or ";" in value or " " in value)
    )


def looks_secret(value: str) -> bool:
    """Return whether text has the form of a secret somewhere, such as an address with a password."""
    return bool(secret_spans(value))


def contains_secret(value: str) -> bool:
    """Return whether the value of an environment variable is a secret, or has one in it."""
    return looks_secret(value) or contains_password(value)


def _is_passphrase(value: str) -> bool:
    """Return whether a value of a secret name consists of words: a password with blanks, and no path or command."""
    return len(value) >= MIN_SECRET_CHARS and " " in value.strip() and value[0] not in "/~.-"


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Collect the values to hide from an environment and from the settings in effect, longest first."""
    return _known_secrets(tuple(environment.items()), frozenset(HELD_SECRETS))


@lru_cache(maxsize=4)
def _known_secrets(
    variables: tuple[tuple[str, str], ...], settings: frozenset[str]
) -> tuple[str, ...]:
    named_values = {
        value
        for name, value in variables
        if is_secret_name(name) and (is_worth_hiding(value) or _is_passphrase(value))
    }
    embedded_values: set[str] = set()
    for _, value in variables:
        secrets = [value[begin:end] for begin, end in secret_spans(value)]
        embedded_values.update(secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS)
        is_long_address = "://" in value and len(value) >= MIN_SECRET_CHARS
        if is_long_address and (secrets or contains_password(value)):
            # The password alone may be too short to be searched for; the address with it is not.
            embedded_values.add(value)
    values = named_values | embedded_values | settings
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


class KernelSecrets:
    """Returns the secret values of an environment, reading it again when they are older than a second; cleans texts."""

    def __init__(self, environment: Mapping[str, str], now: Callable[[], float]) -> None:
        self._environment = environment
        self._now = now
        self._read_at: float | None = None
        self._secret_values: tuple[str, ...] = ()
        self._held_count = len(HELD_SECRETS)

    def __call__(self) -> tuple[str, ...]:
        """Return the values, longest first."""
        now, held_count = self._now(), len(HELD_SECRETS)
        is_outdated = self._read_at is None or now - self._read_at > FRESH_SECONDS
        if is_outdated or held_count != self._held_count:
            self._read_at, self._held_count = now, held_count
            # A cell may change the environment while it is read; then the next read gets it.
            with suppress(RuntimeError, KeyError):
                self._secret_values = secret_values(dict(self._environment))
        return self._secret_values

    def secret_remover(self) -> Scrub:
        """Return a function that removes from a text the known secrets and everything with the form of one."""
        return partial(scrub, values=self())

    def clean(self, text: str) -> str:
        """Return a text without secrets, known ones and those with the shape of one."""
        return self.secret_remover()(text)


def scrub_output(text: str, values: Iterable[str] = ()) -> str:
    """Scrub the output of a tool or server, in which passwords of several words are removed whole (``assigned_words.py``)."""
    return scrub(hide_assigned_passwords(text), values)


def scrubber(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that redacts the secrets of an environment, as it is now, in a text."""
    values = secret_values(environment)
    return lambda text: scrub(text, values)


def is_secret_field(name: object, value: str) -> bool:
    """Return whether a field's name marks its value as a secret, by the same names as in a text."""
    if not isinstance(name, str) or len(name) > MAX_FIELD_NAME_CHARS:
        return False
    if not MIN_SECRET_CHARS <= len(value) <= MAX_FIELD_VALUE_CHARS:
        return False
    return _is_secret_field_name(name) and _FIELD_VALUE.fullmatch(value) is not None


@lru_cache(maxsize=512)
def _is_secret_field_name(name: str) -> bool:
    return SECRET_NAMES.search(name.lower()) is not None


def redacted_event(event: Event, scrub: Scrub) -> Event:
    """Return the event without secrets and lone surrogates; the same object if it has none."""
    match event:
        case Checkpoint():
            # It repeats the records before it, which are redacted.
            return event
        case StepRequested():
            # Its messages repeat the records before it, too.
            parameters = redacted_value(event.request.parameters, scrub)
            if parameters is event.request.parameters:
                return event
            request = event.request.model_copy(update={"parameters": parameters})
            return event.model_copy(update={"request": request})
        case _:
            new_event: Event = redacted_value(event, scrub)
            return new_event


def redacted_value(value: Any, scrub: Scrub) -> Any:
    """Return the value without secrets and lone surrogates; the same object if it has none."""
    texts: dict[str, str] = {}

    def stored_text(text: str) -> str:
        joined_text: str = _joined_surrogates(text)
        return texts.setdefault(joined_text, joined_text)

    joined_value = _redacted_value(value, stored_text)
    changes = {text: new for text in texts if (new := scrub(text)) != text}
    if not changes:
        return joined_value
    return _redacted_value(joined_value, lambda text: changes.get(text, text))


def _joined_surrogates(value: Any) -> Any:
    """Return a value with halves of surrogate pairs joined, and otherwise as it is."""
    return value if type(value) is str and value.isascii() else with_joined_surrogates(value)


def _redacted_value(value: Any, scrub: Scrub) -> Any:
    kind: Any = type(value)
    return value if kind in TEXTLESS_TYPES else _redaction_of(kind)(value, scrub)


def _same_value(value: Any, _scrub: Scrub) -> Any:
    return value


def _clean_text(value: str, scrub: Scrub) -> str:
    if not value:
        return value
    redacted_text = (_joined_surrogates if value.startswith(("data:", "blob:")) else scrub)(value)
    return value if redacted_text == value else redacted_text


def _clean_items(value: list[Any] | tuple[Any, ...], scrub: Scrub) -> list[Any] | tuple[Any, ...]:
    items = [_redacted_value(item, scrub) for item in value]
    is_unchanged = all(new is old for new, old in zip(items, value, strict=True))
    return value if is_unchanged else type(value)(items)


def _clean_model(value: BaseModel, scrub: Scrub) -> BaseModel:
    rules, fields, extra = _text_fields(type(value)), value.__dict__, value.__pydantic_extra__
    if extra:
        rules += tuple((name, _is_unredacted(name), False) for name in extra)
        fields = {**fields, **extra}
    update: dict[str, Any] = {}
    for name, is_unredacted, is_output in rules:
        field_value: Any = fields.get(name)
        field_kind: Any = type(field_value)
        if field_kind in TEXTLESS_TYPES:
            continue
        new_value: Any
        if is_unredacted:
            if field_kind is str and field_value.isascii():
                continue
            new_value = with_joined_surrogates(field_value)
        else:
            cleaned = _without_assigned(value, name, field_value) if is_output else field_value
            if name == "metadata":
                new_value = _redacted_metadata(cleaned, scrub)
            else:
                new_value = _redaction_of(field_kind)(cleaned, scrub)
        if new_value is not field_value:
            update[name] = new_value
    return value.model_copy(update=update) if update else value


@cache
def _text_fields(kind: type[BaseModel]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the fields of a type that may hold text: their names, whether they stay unchanged, whether they hold output."""
    outputs = _output_fields(kind)
    return tuple(
        (name, _is_unredacted(name), name in outputs)
        for name, field in kind.model_fields.items()
        if not _is_textless(field.annotation)
    )


def _is_textless(annotation: Any) -> bool:
    """Return whether values of a type hold no text but the words that the type lists."""
    if get_origin(annotation) in (Union, UnionType):
        return all(map(_is_textless, get_args(annotation)))
    return annotation in TEXTLESS_TYPES or get_origin(annotation) is Literal


@lru_cache(maxsize=512)
def _is_unredacted(name: str) -> bool:
    return name in UNREDACTED_FIELDS or name.endswith("_id")


def _without_assigned(value: BaseModel, name: str, field_value: Any) -> Any:
    """Return a field of an output without passwords of several words; the same object if it has none."""
    if name == "metadata":
        if not isinstance(field_value.get("output"), str):
            return field_value
        output = hide_assigned_passwords(field_value["output"])
        return field_value if output == field_value["output"] else {**field_value, "output": output}
    if not isinstance(field_value, str) or (isinstance(value, TextPart) and not value.synthetic):
        return field_value
    hidden_text = hide_assigned_passwords(field_value)
    return field_value if hidden_text == field_value else hidden_text


def _output_fields(kind: type[BaseModel]) -> frozenset[str]:
    """Return the fields that hold output; the input of a call is none: the user must see the code that runs."""
    if issubclass(kind, ToolCompleted | ToolFailed | ToolRunning):
        return frozenset({"metadata", "output", "error"})
    return frozenset({"text"} if issubclass(kind, TextPart) else ())


def _clean_mapping(value: Mapping[str, Any], scrub: Scrub) -> Mapping[str, Any]:
    update: dict[str, Any] = {}
    for name, entry in value.items():
        if type(entry) in TEXTLESS_TYPES:
            continue
        new_value: Any
        if isinstance(entry, str) and is_secret_field(name, entry):
            new_value = REDACTED
        elif name in OPAQUE_FIELDS:
            new_value = _joined_surrogates(entry)
        else:
            new_value = _redacted_value(entry, scrub)
        if new_value is not entry:
            update[name] = new_value
    new_names = {
        name: new_value for name in value if (new_value := _clean_name(name, scrub)) is not name
    }
    if new_names:
        return {new_names.get(name, name): update.get(name, entry) for name, entry in value.items()}
    return {**value, **update} if update else value


def _clean_name(name: Any, scrub: Scrub) -> Any:
    redacted_name = scrub(name) if isinstance(name, str) else name
    return name if redacted_name == name else redacted_name


@lru_cache(maxsize=512)
def _redaction_of(kind: type) -> Callable[[Any, Scrub], Any]:
    """Return the function that redacts values of a type."""
    if issubclass(kind, str):
        return _clean_text
    if issubclass(kind, BaseModel):
        return _clean_model
    if issubclass(kind, Mapping):
        return _clean_mapping
    return _clean_items if issubclass(kind, list | tuple) else _same_value


def _redacted_metadata(metadata: Any, scrub: Scrub) -> Any:
    """Redact a provider's metadata of a part; a thinking block that changes loses its signature."""
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get(THINKING), list | tuple):
        return _redacted_value(metadata, scrub)
    rest = _redacted_value({k: v for k, v in metadata.items() if k != THINKING}, scrub)
    blocks = [_redacted_thinking(block, scrub) for block in metadata[THINKING]]
    return {**rest, THINKING: blocks}


def _redacted_thinking(block: Any, scrub: Scrub) -> Any:
    new_block = _redacted_value(block, scrub)
    if new_block is block or not isinstance(new_block, dict):
        return block
    return {name: value for name, value in new_block.items() if name != "signature"}
