"""The strict validators refuse and accept the same bodies as the providers.

Each case is a valid body with one change, named after the provider's own refusal.
"""

import copy
import json
import math
from typing import Any

import pytest
from tests.model.valid_bodies import (
    ANTHROPIC,
    GEMINI,
    JPEG,
    MISTRAL,
    OPENAI,
    PDF,
    PNG,
    Body,
    Break,
    adds,
    broken,
    call,
    drops,
    puts,
    sets,
)
from tests.provider_rules import anthropic, gemini, mistral, openai
from tests.provider_rules.dialects import problems

from palimpsest.testing.dialects import WireFormat, model_of, wire_format_of

USER = {"role": "user", "content": "Hi."}

OPENAI_CASES: dict[str, tuple[Break, str]] = {
    "a call without a result": (drops("messages", 4), "'call_1' without a result"),
    "a result without a call": (drops("messages", 2), "no call directly before"),
    "a call answered twice": (
        adds("messages", one={"role": "tool", "tool_call_id": "call_1", "content": "x"}),
        "no call directly before",
    ),
    "a user between call and result": (puts("messages", 3, one=USER), "without a result"),
    "two calls with one id": (
        sets("messages", 2, "tool_calls", 1, "id", to="call_1"),
        "two calls with the id",
    ),
    "an id of more than 40 characters": (
        sets("messages", 2, "tool_calls", 0, "id", to="x" * 41),
        "may have 40",
    ),
    "an empty id": (sets("messages", 3, "tool_call_id", to=""), "is empty"),
    "a tool's name with a space": (
        sets("messages", 2, "tool_calls", 0, "function", "name", to="a b"),
        "letters, digits",
    ),
    "a tool's name of 65 characters": (
        sets("tools", 0, "function", "name", to="n" * 65),
        "1 to 64",
    ),
    "arguments that are no JSON": (
        sets("messages", 2, "tool_calls", 0, "function", "arguments", to='{"a'),
        "no JSON",
    ),
    "arguments that are no object": (
        sets("messages", 2, "tool_calls", 0, "function", "arguments", to="[1]"),
        "no object",
    ),
    "arguments with a number that JSON lacks": (
        sets("messages", 2, "tool_calls", 0, "function", "arguments", to='{"a": NaN}'),
        "no JSON",
    ),
    "arguments as an object": (
        sets("messages", 2, "tool_calls", 0, "function", "arguments", to={}),
        "must be a string",
    ),
    "an empty list of calls": (sets("messages", 5, "tool_calls", to=[]), "0 entries"),
    "an answer with nothing": (sets("messages", 5, "content", to=None), "neither content"),
    "an empty list of parts": (sets("messages", 1, "content", to=[]), "0 entries"),
    "empty words": (sets("messages", 6, "content", to=""), "white space"),
    "half of a character": (sets("messages", 6, "content", to="\ud83d"), "lone surrogate"),
    "a picture in a result": (
        sets("messages", 3, "content", to=[OPENAI["messages"][1]["content"][1]]),
        "must be one of text",
    ),
    "a picture in an answer": (
        sets("messages", 5, "content", to=[OPENAI["messages"][1]["content"][1]]),
        "must be one of text",
    ),
    "a picture of a type that is refused": (
        sets("messages", 1, "content", 1, "image_url", "url", to="data:image/bmp;base64,Qk0="),
        "image/bmp",
    ),
    "a picture without data": (
        sets("messages", 1, "content", 1, "image_url", "url", to="data:image/png;base64,"),
        "no data",
    ),
    "a picture that is no base64": (
        sets("messages", 1, "content", 1, "image_url", "url", to="data:image/png;base64,@@"),
        "no base64",
    ),
    "a picture with a wrong label": (
        sets("messages", 1, "content", 1, "image_url", "url", to=f"data:image/png;base64,{JPEG}"),
        "its bytes are not",
    ),
    "a file that is not there": (
        sets("messages", 1, "content", 2, "file", to={"filename": "a"}),
        "file_data or file_id",
    ),
    "a cache mark": (
        sets("messages", 6, "cache_control", to={"type": "ephemeral"}),
        "no field",
    ),
    "thinking sent back": (sets("messages", 5, "reasoning_content", to="hm"), "no field"),
    "an unknown field": (sets("colour", to="red"), "no field"),
    "an unknown role": (sets("messages", 6, "role", to="critic"), "must be one of"),
    "no messages": (sets("messages", to=[]), "0 entries"),
    "no model": (drops("model"), "missing"),
    "no tokens for the answer": (sets("max_tokens", to=0), "from 1"),
    "both limits": (sets("max_completion_tokens", to=5), "both"),
    "max_tokens for a thinking model": (sets("model", to="gpt-5.1"), "max_completion_tokens"),
    "a temperature over 2": (sets("temperature", to=2.1), "from 0 to 2"),
    "tool_choice without tools": (drops("tools"), "together with tools"),
    "two tools of one name": (
        adds("tools", one=OPENAI["tools"][0]),
        "another tool",
    ),
    "129 tools": (sets("tools", to=[OPENAI["tools"][0]] * 129), "129 entries"),
    "a schema of no object": (
        sets("tools", 0, "function", "parameters", "type", to="string"),
        "'object'",
    ),
    "stream_options without a stream": (sets("stream", to=False), "stream_options"),
    "five stops": (sets("stop", to=["a", "b", "c", "d", "e"]), "5 entries"),
    "JSON that nobody asked for": (
        sets("response_format", to={"type": "json_object"}),
        "'json'",
    ),
}

ANTHROPIC_CASES: dict[str, tuple[Break, str]] = {
    "a call without a result": (drops("messages", 2, "content", 0), "'toolu_2' has no result"),
    "a result without a call": (drops("messages", 1, "content", 4), "follows no such call"),
    "a call answered twice": (
        puts("messages", 2, "content", 0, one=ANTHROPIC["messages"][2]["content"][1]),
        "answered twice",
    ),
    "an id used twice": (
        sets("messages", 1, "content", 4, "id", to="toolu_1"),
        "stands for 2 calls",
    ),
    "words before the results": (
        puts("messages", 2, "content", 0, one={"type": "text", "text": "x"}),
        "results must come before",
    ),
    "an id with a dot": (sets("messages", 1, "content", 3, "id", to="a.b"), "letters, digits"),
    "an empty id": (sets("messages", 2, "content", 1, "tool_use_id", to=""), "letters, digits"),
    "a tool's name with a dot": (sets("tools", 0, "name", to="web.search"), "letters, digits"),
    "an input that is no object": (
        sets("messages", 1, "content", 3, "input", to="{}"),
        "must be an object",
    ),
    "an answer first": (drops("messages", 0), "must be the user's"),
    "empty words": (sets("messages", 0, "content", 0, "text", to=""), "white space"),
    "words of white space": (sets("messages", 3, "content", to=" \n"), "white space"),
    "an empty content": (sets("messages", 3, "content", to=[]), "0 entries"),
    "an empty text in a result": (
        sets("messages", 2, "content", 0, "content", 0, "text", to=""),
        "white space",
    ),
    "a system prompt of white space": (sets("system", to=" "), "white space"),
    "a system message": (sets("messages", 3, "role", to="system"), "must be one of"),
    "half of a character": (
        sets("messages", 1, "content", 3, "input", to={"\ud83d": 1}),
        "lone surrogate",
    ),
    "a number that JSON lacks": (
        sets("messages", 1, "content", 3, "input", to={"a": math.nan}),
        "JSON does not know",
    ),
    "thinking without its signature": (
        sets("messages", 1, "content", 0, "signature", to=""),
        "is empty",
    ),
    "thinking after words": (
        puts("messages", 1, "content", 0, one={"type": "text", "text": "x"}),
        "thinking must come before",
    ),
    "thinking at the end": (
        puts(
            "messages",
            0,
            one={
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "x", "signature": "s"}],
            },
        ),
        "ends with thinking",
    ),
    "a call without thinking while it is enabled": (
        sets("messages", 1, "content", to=ANTHROPIC["messages"][1]["content"][2:]),
        "begin with thinking",
    ),
    "thinking by the user": (
        adds("messages", 2, "content", one=ANTHROPIC["messages"][1]["content"][0]),
        "must be one of",
    ),
    "a call by the user": (
        adds("messages", 2, "content", one=ANTHROPIC["messages"][1]["content"][3]),
        "must be one of",
    ),
    "five cache marks": (
        sets(
            "messages",
            3,
            "content",
            to=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 3,
        ),
        "5 cache marks",
    ),
    "a cache mark on thinking": (
        sets("messages", 1, "content", 0, "cache_control", to={"type": "ephemeral"}),
        "no field",
    ),
    "a cache mark on a message": (
        sets("messages", 3, "cache_control", to={"type": "ephemeral"}),
        "no field",
    ),
    "a picture of a type that is refused": (
        sets("messages", 0, "content", 1, "source", "media_type", to="image/svg+xml"),
        "image/svg+xml",
    ),
    "a picture with a wrong label": (
        sets("messages", 0, "content", 1, "source", "data", to=JPEG),
        "its bytes are not",
    ),
    "a document that is none": (
        sets("messages", 0, "content", 2, "source", "data", to=PNG),
        "its bytes are not",
    ),
    "a picture in the result of an error": (
        adds("messages", 2, "content", 0, "content", one=ANTHROPIC["messages"][0]["content"][1]),
        "text only",
    ),
    "no max_tokens": (drops("max_tokens"), "missing"),
    "no tokens for the answer": (sets("max_tokens", to=0), "from 1"),
    "a temperature over 1": (sets("temperature", to=1.5), "from 0 to 1"),
    "a temperature while thinking": (sets("temperature", to=0.5), "while thinking"),
    "a small budget": (sets("thinking", "budget_tokens", to=1000), "from 1024"),
    "a budget over max_tokens": (sets("thinking", "budget_tokens", to=4000), "must be greater"),
    "a forced tool while thinking": (sets("tool_choice", to={"type": "any"}), "cannot force"),
    "a forced tool that is not offered": (
        sets("tool_choice", to={"type": "tool", "name": "write"}),
        "not offered",
    ),
    "calls and no tools": (drops("tools"), "tools must be offered"),
    "two tools of one name": (adds("tools", one=ANTHROPIC["tools"][0]), "have the name"),
    "a schema of no object": (sets("tools", 0, "input_schema", to={}), "'object'"),
    "an unknown field": (sets("stream_options", to={}), "no field"),
    "an answer last while thinking": (
        adds("messages", one={"role": "assistant", "content": "I"}),
        "speak last",
    ),
    "no messages": (sets("messages", to=[]), "0 entries"),
}

GEMINI_CASES: dict[str, tuple[Break, str]] = {
    "one response for two calls": (drops("contents", 2, "parts", 0), "2 calls have 1"),
    "three responses for two calls": (
        adds("contents", 2, "parts", one=GEMINI["contents"][2]["parts"][0]),
        "2 calls have 3",
    ),
    "no response": (drops("contents", 2), "2 calls have 0"),
    "a response without a call": (drops("contents", 1), "0 calls have 2"),
    "a user between call and response": (
        puts("contents", 2, one={"role": "user", "parts": [{"text": "x"}]}),
        "2 calls have 0",
    ),
    "a response that names another function": (
        sets("contents", 2, "parts", 0, "functionResponse", "name", to="write"),
        "name other functions",
    ),
    "a response with another id": (
        sets("contents", 2, "parts", 0, "functionResponse", "id", to="x"),
        "other ids",
    ),
    "a call after an answer": (
        puts("contents", 1, one={"role": "model", "parts": [{"text": "x"}]}),
        "like the one before",
    ),
    "a question after a question": (
        puts("contents", 1, one={"role": "user", "parts": [{"text": "x"}]}),
        "like the one before",
    ),
    "an answer first": (drops("contents", 0), "must be the user's"),
    "an answer last": (drops("contents", 4), "must come last"),
    "a call by the user": (
        sets("contents", 0, "parts", 0, to={"functionCall": {"name": "read", "args": {}}}),
        "only the model",
    ),
    "a response by the model": (sets("contents", 2, "role", to="model"), "the user's to give"),
    "an unknown role": (sets("contents", 3, "role", to="assistant"), "must be one of"),
    "no parts": (sets("contents", 3, "parts", to=[]), "0 entries"),
    "empty words": (sets("contents", 3, "parts", 0, "text", to=""), "is empty"),
    "a part with nothing": (sets("contents", 3, "parts", 0, to={}), "exactly one"),
    "a part with two things": (
        sets("contents", 1, "parts", 1, "text", to="x"),
        "exactly one",
    ),
    "a function without a name": (
        sets("contents", 1, "parts", 1, "functionCall", "name", to=""),
        "a letter or underscore",
    ),
    "a function whose name begins with a digit": (
        sets("tools", 0, "functionDeclarations", 0, "name", to="2nd"),
        "a letter or underscore",
    ),
    "a function's name of 65 characters": (
        sets("tools", 0, "functionDeclarations", 0, "name", to="n" * 65),
        "up to 63",
    ),
    "arguments that are no object": (
        sets("contents", 1, "parts", 1, "functionCall", "args", to="{}"),
        "must be an object",
    ),
    "a response that is no object": (
        sets("contents", 2, "parts", 0, "functionResponse", "response", to="one"),
        "must be an object",
    ),
    "half of a character": (
        sets("contents", 2, "parts", 0, "functionResponse", "response", to={"a": "\udc00"}),
        "lone surrogate",
    ),
    "a number that JSON lacks": (
        sets("contents", 1, "parts", 1, "functionCall", "args", to={"a": math.inf}),
        "JSON does not know",
    ),
    "a picture of a type that is refused": (
        sets("contents", 0, "parts", 1, "inlineData", "mimeType", to="image/gif"),
        "image/gif",
    ),
    "a picture without data": (
        sets("contents", 0, "parts", 1, "inlineData", "data", to=""),
        "no data",
    ),
    "a picture with a wrong label": (
        sets("contents", 0, "parts", 1, "inlineData", "data", to=PDF),
        "its bytes are not",
    ),
    "an unknown field": (sets("messages", to=[]), "no field"),
    "an unknown field of a part": (sets("contents", 3, "parts", 0, "type", to="text"), "no field"),
    "a system prompt without words": (
        sets("systemInstruction", "parts", 0, "text", to=""),
        "is empty",
    ),
    "an object without properties": (
        sets(
            "tools",
            0,
            "functionDeclarations",
            0,
            "parameters",
            to={"type": "object", "properties": {}},
        ),
        "must not be empty",
    ),
    "a list of nothing in particular": (
        sets(
            *("tools", 0, "functionDeclarations", 0, "parameters", "properties", "path"),
            to={"type": "array"},
        ),
        "items is missing",
    ),
    "a choice of types that says more": (
        sets(
            *("tools", 0, "functionDeclarations", 0, "parameters", "properties", "path"),
            to={"anyOf": [{"type": "string"}], "description": "x"},
        ),
        "the only field",
    ),
    "a required property that is none": (
        sets("tools", 0, "functionDeclarations", 0, "parameters", "required", to=["x"]),
        "no property",
    ),
    "a field that schemas lack": (
        sets("tools", 0, "functionDeclarations", 0, "parameters", "$schema", to="x"),
        "no field of a schema",
    ),
    "two functions of one name": (
        adds("tools", 0, "functionDeclarations", one=GEMINI["tools"][0]["functionDeclarations"][0]),
        "have the name",
    ),
    "no tokens for the answer": (sets("generationConfig", "maxOutputTokens", to=0), "from 1"),
    "a temperature over 2": (sets("generationConfig", "temperature", to=3), "from 0 to 2"),
    "allowed functions in the mode AUTO": (
        sets("toolConfig", "functionCallingConfig", "allowedFunctionNames", to=["read"]),
        "only allowed in the modes",
    ),
    "no contents": (sets("contents", to=[]), "0 entries"),
}

MISTRAL_CASES: dict[str, tuple[Break, str]] = {
    "a call without a result": (drops("messages", 4), "without a result"),
    "a result without a call": (drops("messages", 2), "no call directly before"),
    "a call answered twice": (
        puts("messages", 4, one=MISTRAL["messages"][3]),
        "no call directly before",
    ),
    "a user right after a result": (drops("messages", 5), "may not follow 'tool'"),
    "a result after a user": (puts("messages", 3, one=USER), "may not follow 'user'"),
    "a system message after a result": (
        sets("messages", 5, "role", to="system"),
        "may not follow 'tool'",
    ),
    "an answer last": (adds("messages", one={"role": "assistant", "content": "I"}), "last message"),
    "an answer first": (
        sets("messages", to=[{"role": "assistant", "content": "I", "prefix": True}]),
        "must speak first",
    ),
    "a system message last": (
        adds("messages", one={"role": "system", "content": "Be brief."}),
        "not be the system's",
    ),
    "a prefix in the middle": (sets("messages", 5, "prefix", to=True), "is a prefix"),
    "an id of ten characters": (
        sets("messages", 2, "tool_calls", 0, "id", to="abcdefgh10"),
        "exactly nine",
    ),
    "an id with an underscore": (
        sets("messages", 3, "tool_call_id", to="call_1234"),
        "exactly nine",
    ),
    "a result without an id": (drops("messages", 3, "tool_call_id"), "missing"),
    "two calls with one id": (
        sets("messages", 2, "tool_calls", 1, "id", to="abcdefgh1"),
        "two calls with the id",
    ),
    "a tool's name with a space": (sets("messages", 3, "name", to="a b"), "letters, digits"),
    "a tool's name of 65 characters": (
        sets("tools", 0, "function", "name", to="n" * 65),
        "1 to 64",
    ),
    "arguments that are no JSON": (
        sets("messages", 2, "tool_calls", 0, "function", "arguments", to="{"),
        "no JSON",
    ),
    "an answer with nothing": (sets("messages", 5, "content", to=None), "neither content"),
    "empty words": (sets("messages", 6, "content", to=""), "white space"),
    "half of a character": (sets("messages", 6, "content", to="a\ud83d"), "lone surrogate"),
    "thinking sent back": (sets("messages", 5, "reasoning_content", to="x"), "no field"),
    "a name of the user": (sets("messages", 6, "name", to="me"), "no field"),
    "a field of OpenAI": (sets("stream_options", to={"include_usage": True}), "no field"),
    "a file that is sent along": (
        sets(
            *("messages", 1, "content", 1),
            to={"type": "file", "file": {"filename": "a", "file_data": "data:,"}},
        ),
        "no field",
    ),
    "a picture of a type that is refused": (
        sets("messages", 1, "content", 1, "image_url", "url", to="data:image/tiff;base64,SUkq"),
        "image/tiff",
    ),
    "a picture without data": (
        sets("messages", 1, "content", 1, "image_url", to=""),
        "neither a web address",
    ),
    "no tokens for the answer": (sets("max_tokens", to=0), "from 1"),
    "a temperature over 1.5": (sets("temperature", to=1.6), "from 0 to 1.5"),
    "tool_choice without tools": (drops("tools"), "together with tools"),
    "a tool without a schema": (drops("tools", 0, "function", "parameters"), "missing"),
    "two tools of one name": (adds("tools", one=MISTRAL["tools"][0]), "another tool"),
    "no messages": (sets("messages", to=[]), "0 entries"),
}

VALIDATORS: dict[WireFormat, tuple[Any, Body, dict[str, tuple[Break, str]]]] = {
    "openai": (openai.problems, OPENAI, OPENAI_CASES),
    "anthropic": (anthropic.problems, ANTHROPIC, ANTHROPIC_CASES),
    "gemini": (gemini.problems, GEMINI, GEMINI_CASES),
    "mistral": (mistral.problems, MISTRAL, MISTRAL_CASES),
}
CASES = [
    pytest.param(dialect, change, says, id=f"{dialect}: {name}")
    for dialect, (_, _, cases) in VALIDATORS.items()
    for name, (change, says) in cases.items()
]


@pytest.mark.parametrize(("dialect", "change", "says"), CASES)
def test_a_wrong_request_is_refused(dialect: WireFormat, change: Break, says: str) -> None:
    validate, good, _ = VALIDATORS[dialect]
    found = validate(broken(good, change))

    assert any(says in sentence for sentence in found), found
    assert all(sentence.endswith(".") for sentence in found)


@pytest.mark.parametrize("dialect", VALIDATORS)
def test_each_provider_has_fifteen_cases_at_least(dialect: WireFormat) -> None:
    assert len(VALIDATORS[dialect][2]) >= 15


PREFILL = {**ANTHROPIC, "messages": [USER, {"role": "assistant", "content": "I think"}]}
LONE_QUESTION = {"model": "m", "messages": [USER]}
GOOD: list[tuple[WireFormat, Body]] = [
    ("openai", OPENAI),
    ("openai", LONE_QUESTION),
    ("openai", {**LONE_QUESTION, "messages": [{"role": "developer", "content": "Hi."}]}),
    ("openai", {"model": "o4-mini", "messages": [USER, USER], "max_completion_tokens": 5}),
    ("openai", {**LONE_QUESTION, "messages": [USER, {"role": "assistant", "content": "Hi. "}]}),
    ("anthropic", ANTHROPIC),
    ("anthropic", {**LONE_QUESTION, "max_tokens": 1}),
    ("anthropic", {k: v for k, v in PREFILL.items() if k != "thinking"}),
    ("anthropic", {**ANTHROPIC, "thinking": {"type": "adaptive"}}),
    ("anthropic", {**ANTHROPIC, "tool_choice": {"type": "auto"}}),
    ("gemini", GEMINI),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": " "}]}]}),
    ("gemini", {"contents": GEMINI["contents"][:3]}),
    ("gemini", {"contents": [*GEMINI["contents"][:3], GEMINI["contents"][4]]}),
    ("mistral", MISTRAL),
    ("mistral", LONE_QUESTION),
    ("mistral", {**MISTRAL, "messages": MISTRAL["messages"][:5]}),
    (
        "mistral",
        {"model": "m", "messages": [USER, {"role": "assistant", "content": "I", "prefix": True}]},
    ),
]


@pytest.mark.parametrize(("dialect", "body"), GOOD)
def test_a_good_request_is_taken(dialect: WireFormat, body: Body) -> None:
    before = copy.deepcopy(body)

    assert VALIDATORS[dialect][0](body) == []
    assert body == before


@pytest.mark.parametrize("dialect", VALIDATORS)
@pytest.mark.parametrize("body", [None, [], "x", 3, {}, {"messages": None}, {"contents": {}}])
def test_whatever_is_sent_is_refused_in_sentences(dialect: WireFormat, body: Any) -> None:
    assert VALIDATORS[dialect][0](body)


@pytest.mark.parametrize(
    ("model", "more", "taken"),
    [
        ("gpt-5.1", {}, True),
        ("gpt-5.1", {"reasoning_effort": "none"}, True),
        ("gpt-5.1", {"reasoning_effort": "high"}, False),
        ("gpt-5.1-codex", {}, False),
        ("gpt-5", {}, False),
    ],
)
def test_a_model_that_does_not_think_takes_a_temperature(
    model: str, more: Body, *, taken: bool
) -> None:
    asked = [{"role": "user", "content": "Hm?"}]
    body = {"model": model, "messages": asked, "temperature": 0.5, **more}

    assert (problems("/v1/chat/completions", body) == []) is taken


def test_a_new_claude_goes_on_in_no_answer() -> None:
    body = {k: v for k, v in PREFILL.items() if k != "thinking"}

    assert anthropic.problems({**body, "model": "claude-opus-4-5-20251101"}) == []
    for model in ("claude-opus-4-6", "claude-sonnet-5", "claude-sonnet-5-20260801"):
        assert anthropic.problems({**body, "model": model}) == [
            "The user must speak last: this model goes on in no answer."
        ]


def test_an_answer_that_is_to_go_on_ends_with_no_white_space() -> None:
    body = {k: v for k, v in PREFILL.items() if k != "thinking"}

    found = anthropic.problems(broken(body, sets("messages", 1, "content", to="I think ")))

    assert found == ["messages[1] is last and ends with white space."]


def test_a_turn_that_began_with_thinking_needs_no_more_of_it() -> None:
    further = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t3", "name": "read", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t3"}]},
    ]
    begun = ANTHROPIC["messages"][:3]
    asked_anew = [*begun, {"role": "assistant", "content": "Done."}, USER]

    assert anthropic.problems({**ANTHROPIC, "messages": [*begun, *further]}) == []
    assert anthropic.problems({**ANTHROPIC, "messages": [*asked_anew, *further]}) == [
        "messages[5] calls tools and must begin with thinking, since thinking is enabled."
    ]


def test_gemini_3_wants_the_signatures_of_the_turn_that_goes_on() -> None:
    unsigned = broken(GEMINI, drops("contents", 1, "parts", 1, "thoughtSignature"))
    going_on = {**unsigned, "contents": unsigned["contents"][:3]}

    assert gemini.problems(unsigned, "gemini-3-pro-preview") == []
    assert gemini.problems(going_on, "gemini-2.5-pro") == []
    assert gemini.problems(going_on, "gemini-3-pro-preview") == [
        "contents[1]: the first function call has no thoughtSignature."
    ]


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("/v1/chat/completions", "openai"),
        ("/v1/messages", "anthropic"),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", "gemini"),
        ("/mistral/v1/chat/completions", "mistral"),
    ],
)
def test_the_address_says_whose_rules_hold(path: str, dialect: WireFormat) -> None:
    assert wire_format_of(path) == dialect
    assert problems(path, VALIDATORS[dialect][1]) == []
    assert problems(path, json.loads("{}"))


def test_gemini_names_its_model_in_the_address() -> None:
    assert model_of("/v1beta/models/gemini-3-pro:streamGenerateContent", {}) == "gemini-3-pro"
    assert model_of("/v1/messages", {"model": "claude"}) == "claude"
    assert model_of("/v1/messages", None) == ""


def test_calls_may_be_answered_in_any_order() -> None:
    calls = [call("call_2"), call("call_1")]

    assert openai.problems(broken(OPENAI, sets("messages", 2, "tool_calls", to=calls))) == []
