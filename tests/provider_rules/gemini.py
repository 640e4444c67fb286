"""Validate a request body by the rules of Gemini's generateContent: what it answers with a 400.

The server accepts names in both spellings (``functionCall``, ``function_call``), and so does this. The
model is in the URL and not in the body; it is a parameter where it is known.
"""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.provider_rules.json_checks import (
    Check,
    among,
    anything,
    at,
    filled,
    flag,
    items,
    mapping,
    matching,
    nullable,
    number,
    record,
    sayable,
    text,
    whole,
)
from tests.provider_rules.media import content_problems

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
AUDIO_TYPES = frozenset(
    f"audio/{one}" for one in ("wav", "mp3", "mpeg", "aiff", "aac", "ogg", "flac")
)
VIDEO_TYPES = frozenset(
    f"video/{one}"
    for one in ("mp4", "mpeg", "mov", "quicktime", "avi", "x-flv", "mpg", "webm", "wmv", "3gpp")
)
TEXT_TYPES = frozenset(
    f"text/{one}" for one in ("plain", "html", "css", "csv", "xml", "markdown", "javascript")
)
TYPES = IMAGE_TYPES | AUDIO_TYPES | VIDEO_TYPES | TEXT_TYPES | {"application/pdf"}
SIGNING_MODEL = re.compile(r"gemini-(\d+)")
SIGNS_SINCE = 3
"""From this version on a model demands its signatures in the current turn."""
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse")

NAME = matching(
    r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}",
    "a letter or underscore and then up to 63 letters, digits, underscores, dots, colons, dashes",
)


def camel(name: str) -> str:
    """Return a name in camel case, the spelling used here."""
    first, *more = name.split("_")
    return first + "".join(word.capitalize() for word in more)


def message(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Check an object in either spelling."""
    return record(required, optional, spell=camel)


_encoded = message({"mimeType": text, "data": text}, {"displayName": text})


def inline(value: Any, where: str) -> list[str]:
    """Check an inline file."""
    found = _encoded(value, where)
    if found:
        return found
    given = known(value)
    return content_problems(given["mimeType"], given["data"], where, TYPES)


def known(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with names in camel case, without null values."""
    return {camel(name): one for name, one in value.items() if one is not None}


part_shape = message(
    {},
    {
        "text": text,
        "inlineData": inline,
        "fileData": message({"fileUri": filled}, {"mimeType": text}),
        "functionCall": message({"name": NAME}, {"args": nullable(mapping), "id": filled}),
        "functionResponse": message(
            {"name": NAME, "response": mapping},
            {"id": filled, "parts": items(message({"inlineData": inline})), "willContinue": flag},
        ),
        "thought": flag,
        "thoughtSignature": filled,
        "videoMetadata": mapping,
        "mediaResolution": mapping,
    },
)


def part(value: Any, where: str) -> list[str]:
    """Check a part that must hold exactly one kind of content."""
    found = part_shape(value, where)
    if found:
        return found
    given = known(value)
    held = [name for name in DATA if name in given]
    if len(held) != 1:
        return [f"{where} must hold exactly one of {', '.join(DATA)}."]
    if given.get("text") == "" and "thoughtSignature" not in given:
        return [f"{where}.text is empty."]
    return []


parts = items(part, least=1)
TYPES_OF_VALUES = {"string", "number", "integer", "boolean", "array", "object", "null"}
SCHEMA_FIELDS = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems"}
    | {"properties", "required", "minProperties", "maxProperties", "minLength", "maxLength"}
    | {"pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum"}
)


def schema(value: Any, where: str) -> list[str]:
    """Check a schema in the subset of OpenAPI that Gemini knows."""
    if not isinstance(value, dict):
        return [f"{where} must be an object."]
    given = known(value)
    faults = [
        f"{at(where, one)} is no field of a schema." for one in given if one not in SCHEMA_FIELDS
    ]
    kind = given.get("type")
    if kind is not None and str(kind).lower() not in TYPES_OF_VALUES:
        faults.append(f"{at(where, 'type')} is no type.")
    form = given.get("format")
    if str(kind).lower() == "string" and form not in (None, "enum", "date-time"):
        faults.append(f"{at(where, 'format')} may only be 'enum' or 'date-time' for a string.")
    if "anyOf" in given and len(given) > 1:
        faults.append(f"{at(where, 'anyOf')} must be the only field where it is used.")
    return faults + _of_kind(given, str(kind).lower(), where) + _inner(given, where)


def _of_kind(given: dict[str, Any], kind: str, where: str) -> list[str]:
    faults = []
    properties = given.get("properties")
    if kind == "object" and properties is not None and not properties:
        faults.append(f"{at(where, 'properties')} must not be empty.")
    if kind == "array" and "items" not in given:
        faults.append(f"{at(where, 'items')} is missing.")
    if "enum" in given and kind != "string":
        faults.append(f"{at(where, 'enum')} is only allowed for strings.")
    return faults + [
        f"{at(where, 'required')} names {one!r}, which is no property."
        for one in given.get("required", ())
        if one not in (properties or {})
    ]


def _inner(given: dict[str, Any], where: str) -> list[str]:
    named = {f"properties.{name}": one for name, one in (given.get("properties") or {}).items()}
    named |= {f"anyOf[{i}]": one for i, one in enumerate(given.get("anyOf") or ())}
    if "items" in given:
        named["items"] = given["items"]
    return [found for name, one in named.items() for found in schema(one, at(where, name))]


function = message(
    {"name": NAME},
    {
        "description": text,
        "parameters": schema,
        "parametersJsonSchema": mapping,
        "response": schema,
        "responseJsonSchema": mapping,
        "behavior": among("UNSPECIFIED", "BLOCKING", "NON_BLOCKING"),
    },
)
FIELDS: Mapping[str, Check] = {
    "model": text,
    "cachedContent": text,
    "labels": mapping,
    "safetySettings": items(message({"category": filled, "threshold": filled})),
    "systemInstruction": message(
        {"parts": items(message({"text": filled}), least=1)}, {"role": text}
    ),
    "tools": items(
        message(
            {},
            {
                "functionDeclarations": items(function, least=1),
                "googleSearch": mapping,
                "codeExecution": mapping,
                "urlContext": mapping,
            },
        )
    ),
    "toolConfig": message(
        {},
        {
            "functionCallingConfig": message(
                {},
                {
                    "mode": among("AUTO", "ANY", "NONE", "VALIDATED"),
                    "allowedFunctionNames": items(NAME),
                },
            )
        },
    ),
    "generationConfig": message(
        {},
        {
            "stopSequences": items(filled, most=5),
            "candidateCount": whole(1, 8),
            "maxOutputTokens": whole(1),
            "temperature": number(0, 2),
            "topP": number(0, 1),
            "topK": number(1),
            "seed": whole(-(2**31), 2**31 - 1),
            "presencePenalty": number(-2, 2),
            "frequencyPenalty": number(-2, 2),
            "responseMimeType": text,
            "responseSchema": schema,
            "responseJsonSchema": anything,
            "responseModalities": items(text),
            "responseLogprobs": flag,
            "logprobs": whole(0, 20),
            "thinkingConfig": message(
                {},
                {
                    "includeThoughts": flag,
                    "thinkingBudget": whole(-1),
                    "thinkingLevel": matching(r"(?i)minimal|low|medium|high", "a level"),
                },
            ),
            "speechConfig": mapping,
            "imageConfig": mapping,
            "mediaResolution": text,
        },
    ),
}
body_shape = message(
    {"contents": items(message({"role": among("user", "model"), "parts": parts}), least=1)}, FIELDS
)


class Content:
    """One entry of the conversation, with its calls and responses."""

    def __init__(self, value: dict[str, Any], where: str) -> None:
        given = known(value)
        self.where = where
        self.role: str = given["role"]
        self.parts = [known(one) for one in given["parts"]]
        self.calls = [known(one["functionCall"]) for one in self.parts if "functionCall" in one]
        self.responses = [
            known(one["functionResponse"]) for one in self.parts if "functionResponse" in one
        ]


def problems(body: Any, model: str = "") -> list[str]:
    """Return the problems for which Gemini would refuse the body of a generateContent request."""
    faults = sayable(body) + body_shape(body, "")
    if faults:
        return faults
    given = known(body)
    contents = [Content(content, f"contents[{i}]") for i, content in enumerate(given["contents"])]
    return [
        *_speakers(contents),
        *_order(contents),
        *_pairs(contents),
        *_signatures(contents, model or given.get("model", "")),
        *_tools(given),
    ]


def _speakers(contents: list[Content]) -> list[str]:
    faults: list[str] = []
    for content in contents:
        if content.calls and content.role != "model":
            faults.append(f"{content.where}: only the model calls functions.")
        if content.responses and content.role != "user":
            faults.append(f"{content.where}: a function's response is the user's to give.")
    return faults


def _order(contents: list[Content]) -> list[str]:
    faults = [] if contents[0].role == "user" else ["contents[0] must be the user's."]
    if contents[-1].role != "user":
        faults.append("The user, or a function's response, must come last.")
    for before, one in pairwise(contents):
        if before.role != one.role or (before.responses and not one.responses):
            continue
        faults.append(f"{one.where} has the role {one.role!r} like the one before it.")
    return faults


def _pairs(contents: list[Content]) -> list[str]:
    faults: list[str] = []
    for before, one in zip([None, *contents], [*contents, None], strict=True):
        made = before.calls if before is not None else []
        given = one.responses if one is not None else []
        if len(made) != len(given):
            place = one.where if one is not None else "The end"
            faults.append(f"{place}: {len(made)} calls have {len(given)} responses.")
        elif Counter(c["name"] for c in made) != Counter(r["name"] for r in given):
            faults.append(f"{one.where if one else ''}: responses and calls name other functions.")
        elif Counter(c.get("id") for c in made) != Counter(r.get("id") for r in given):
            faults.append(f"{one.where if one else ''}: responses and calls have other ids.")
    return faults


def _signatures(contents: list[Content], model: str) -> list[str]:
    """In the current turn, the first call of each step must have its signature."""
    version = SIGNING_MODEL.search(model)
    if version is None or int(version[1]) < SIGNS_SINCE:
        return []
    faults: list[str] = []
    for content in reversed(contents):
        if content.role == "user" and not content.responses:
            break
        first = next((part for part in content.parts if "functionCall" in part), None)
        if first is not None and "thoughtSignature" not in first:
            faults.append(f"{content.where}: the first function call has no thoughtSignature.")
    return faults


def _tools(body: dict[str, Any]) -> list[str]:
    names = Counter(
        one["name"]
        for tool in body.get("tools", ())
        for one in known(tool).get("functionDeclarations", ())
    )
    faults = [f"{n} functions have the name {one!r}." for one, n in names.items() if n > 1]
    config = known(known(body.get("toolConfig", {})).get("functionCallingConfig", {}))
    allowed = config.get("allowedFunctionNames", ())
    if allowed and config.get("mode") not in {"ANY", "VALIDATED"}:
        faults.append("allowedFunctionNames is only allowed in the modes ANY and VALIDATED.")
    return faults + [
        f"{one!r} is allowed, but not declared." for one in allowed if one not in names
    ]
