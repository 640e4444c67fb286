"""Write ids, names and inputs of tool calls in the characters that a provider accepts.

Pure. Imported sessions and broken tools hold values that JSON cannot represent (lone surrogates, NaN,
infinity) and ids that mean something to one provider only; each is written so that every
server accepts it, the same way in call and result.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any, assert_never

from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.provider_profile.profile import (
    SHORT_CHARS,
    ProviderProfile,
    as_nine,
    as_words,
)
from palimpsest.transcript.provider_profile.provider_table import IdRule
from palimpsest.transcript.strings.surrogates import joined_surrogates

MAX_NAME_CHARS = 64
SIGNATURE = "__thought__"
"""Separates an id from the signature that Gemini gave a call, in litellm's ids."""


quoted = json.encoder.encode_basestring
"""Returns a text as JSON, with non-ASCII characters unescaped."""
_STRICT = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False)
PERHAPS_UNSAYABLE = re.compile(r"\\u[dD][89a-fA-F]|NaN|Infinity")
"""Matches, in the text of JSON, what may be NaN, infinity or a lone surrogate once it is parsed."""


def arguments(given: dict[str, Any]) -> str:
    """Return a call's input as JSON; NaN and infinity become strings."""
    if len(given) == 1:
        # Half of all calls give one text: code, a command, a path.
        [(name, value)] = given.items()
        if type(name) is str and type(value) is str:
            return joined_surrogates(f"{{{quoted(name)}: {quoted(value)}}}")
    try:
        text = _STRICT.encode(given)
    except ValueError:
        text = json.dumps(json_value(given), ensure_ascii=False, sort_keys=True)
    return joined_surrogates(text)


def json_value(value: Any) -> Any:
    """Return a JSON value without lone surrogates, and with NaN and infinity as strings."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case str():
            return joined_surrogates(value)
        case dict():
            return {joined_surrogates(name): json_value(one) for name, one in value.items()}
        case list() | tuple():
            return [json_value(one) for one in value]
        case _:
            return value


def uninterpreted_text(text: str) -> str:
    """Return a result's text in a form that litellm passes on to Gemini as text.

    litellm takes the JSON text of an object for the object itself, and a ``data:`` url for a picture.
    """
    if text.lstrip().startswith("{") and PERHAPS_UNSAYABLE.search(text):
        try:
            value = json.loads(text)
        except ValueError:
            return text
        mended = json_value(value)
        return text if mended == value else json.dumps(mended, ensure_ascii=False)
    # A blank in front keeps it text.
    return f" {text}" if text[:5].lower() == "data:" and ";base64," in text else text


def tool_name(name: str, target: ProviderProfile) -> str:
    """Return a tool's name as the provider wants it: some require a letter or underscore at its beginning."""
    if target.letter_first and not re.match(r"[A-Za-z_]", name):
        return f"_{name}"[:MAX_NAME_CHARS]
    return name


def allowed_ids(messages: NeutralMessages, target: ProviderProfile) -> Callable[[str], str]:
    """Return a function that writes call ids as the provider wants them, a different one for each call."""
    written: dict[str, str] = {}
    taken: set[str] = set()
    for message in messages:
        for block in message.blocks:
            if (block.type == "call" or block.type == "result") and block.call_id not in written:
                new = _allowed_id(block.call_id, target.id_rule)
                read = _read(new, target)
                if read in taken or (new and not read):
                    new = read = _allowed_id(_id_hash(block.call_id), target.id_rule)
                taken.add(read)
                written[block.call_id] = new
    return written.__getitem__


def _read(identifier: str, target: ProviderProfile) -> str:
    """Return the id that the server receives: litellm cuts a signature off for servers that do not use it."""
    return identifier if target.ids_sign else identifier.partition(SIGNATURE)[0]


def _allowed_id(identifier: str, rule: IdRule) -> str:
    match rule:
        case "any":
            return joined_surrogates(identifier)
        case "short":
            return (
                joined_surrogates(identifier)
                if len(identifier) <= SHORT_CHARS
                else _shortened(identifier)
            )
        case "words":
            return as_words(identifier)
        case "short_words":
            words = as_words(identifier)
            return words if len(words) <= SHORT_CHARS else _shortened(identifier)
        case "nine":
            return as_nine(identifier)
        case _:
            assert_never(rule)


def _shortened(identifier: str) -> str:
    return "call_" + _id_hash(identifier)[: SHORT_CHARS - 5]


def _id_hash(identifier: str) -> str:
    # An imported id may hold a lone surrogate.
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
