"""Write ids, names and inputs of tool calls in the characters that a provider accepts.

Pure. Imported sessions and broken tools have values that JSON cannot represent (lone surrogates, NaN,
infinity) and ids in a form that only one provider accepts; each is written so that every server accepts it, in the
same way in call and result.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any, assert_never

from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.provider_profile.profile import (
    MAX_SHORT_ID_CHARS,
    ProviderProfile,
    nine_character_id,
    word_character_id,
)
from palimpsest.transcript.provider_profile.provider_table import IdRule
from palimpsest.transcript.strings.surrogates import joined_surrogates

MAX_NAME_CHARS = 64
"""Maximum characters of a tool's name."""
SHORTENED_ID_PREFIX = "call_"
SIGNATURE_SEPARATOR = "__thought__"
"""Separates an id from the signature that Gemini gave a call, in litellm's ids."""


json_string = json.encoder.encode_basestring
"""Returns a text as JSON, with non-ASCII characters unescaped."""
_STRICT = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False)
PERHAPS_UNREPRESENTABLE = re.compile(r"\\u[dD][89a-fA-F]|NaN|Infinity")
"""Matches JSON text that may contain NaN, infinity or a lone surrogate."""


def arguments_json(inputs: dict[str, Any]) -> str:
    """Return a call's input as JSON; NaN and infinity become strings."""
    if len(inputs) == 1:
        # Half of all calls have one argument, which is a text: code, a command, a path.
        [(name, value)] = inputs.items()
        if type(name) is str and type(value) is str:
            return joined_surrogates(f"{{{json_string(name)}: {json_string(value)}}}")
    try:
        text = _STRICT.encode(inputs)
    except ValueError:
        text = json.dumps(json_value(inputs), ensure_ascii=False, sort_keys=True)
    return joined_surrogates(text)


def json_value(value: Any) -> Any:
    """Return a JSON value without lone surrogates, and with NaN and infinity as strings."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case str():
            return joined_surrogates(value)
        case dict():
            return {joined_surrogates(name): json_value(item) for name, item in value.items()}
        case list() | tuple():
            return [json_value(item) for item in value]
        case _:
            return value


def uninterpreted_text(text: str) -> str:
    """Return a result's text in a form that litellm sends to Gemini as text.

    litellm would send the JSON text of an object as the object, and a ``data:`` url as a picture.
    """
    if text.lstrip().startswith("{") and PERHAPS_UNREPRESENTABLE.search(text):
        try:
            value = json.loads(text)
        except ValueError:
            return text
        repaired_value = json_value(value)
        return text if repaired_value == value else json.dumps(repaired_value, ensure_ascii=False)
    # With a space in front litellm sends it as text.
    return f" {text}" if text[:5].lower() == "data:" and ";base64," in text else text


def tool_name(name: str, target_profile: ProviderProfile) -> str:
    """Return a tool's name as the provider requires: some require a letter or underscore at its beginning."""
    if target_profile.letter_first and not re.match(r"[A-Za-z_]", name):
        return f"_{name}"[:MAX_NAME_CHARS]
    return name


def allowed_ids(messages: NeutralMessages, target_profile: ProviderProfile) -> Callable[[str], str]:
    """Return a function that writes call ids as the provider requires, with different ids for different calls."""
    new_ids: dict[str, str] = {}
    taken_ids: set[str] = set()
    for message in messages:
        for block in message.blocks:
            if (block.type == "call" or block.type == "result") and block.call_id not in new_ids:
                new_id = _allowed_id(block.call_id, target_profile.id_rule)
                received_id = _received_id(new_id, target_profile)
                if received_id in taken_ids or (new_id and not received_id):
                    new_id = received_id = _allowed_id(
                        _id_hash(block.call_id), target_profile.id_rule
                    )
                taken_ids.add(received_id)
                new_ids[block.call_id] = new_id
    return new_ids.__getitem__


def _received_id(call_id: str, target_profile: ProviderProfile) -> str:
    """Return the id that the server receives: litellm cuts a signature off for servers that do not use it."""
    return (
        call_id
        if target_profile.ids_contain_signature
        else call_id.partition(SIGNATURE_SEPARATOR)[0]
    )


def _allowed_id(call_id: str, rule: IdRule) -> str:
    match rule:
        case "any":
            return joined_surrogates(call_id)
        case "short":
            if len(call_id) <= MAX_SHORT_ID_CHARS:
                return joined_surrogates(call_id)
            return _shortened_id(call_id)
        case "words":
            return word_character_id(call_id)
        case "short_words":
            new_id = word_character_id(call_id)
            return new_id if len(new_id) <= MAX_SHORT_ID_CHARS else _shortened_id(call_id)
        case "nine":
            return nine_character_id(call_id)
        case _:
            assert_never(rule)


def _shortened_id(call_id: str) -> str:
    return SHORTENED_ID_PREFIX + _id_hash(call_id)[: MAX_SHORT_ID_CHARS - len(SHORTENED_ID_PREFIX)]


def _id_hash(call_id: str) -> str:
    # An imported id may contain a lone surrogate.
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
