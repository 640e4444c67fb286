"""A tool call in words is recognised in the forms of the models that write it, and in nothing else."""

import json

import pytest

from palimpsest.context.engine_text.written_calls import written_call

TOOLS = ("python", "read", "web-fetch")
JSON = json.dumps({"name": "read", "arguments": {"path": "a.csv"}})
FORMS = [
    '<invoke name="read">\n<parameter name="path">a.csv</parameter>\n</invoke>',
    '<function_calls>\n<invoke name="read"><parameter name="path">a</parameter></invoke>\n</function_calls>',
    "<function=read>\n<parameter=path>\na.csv\n</parameter>\n</function>\n</tool_call>",
    f"<tool_call>\n{JSON}\n</tool_call>",
    f"<tool_call>{JSON}",
    f"<|tool_call|>{JSON}<|/tool_call|>",
    f"<|tool_calls_begin|>{JSON}<|tool_calls_end|>",
    f"[TOOL_CALLS][{JSON}]",
    JSON,
    f"```json\n{JSON}\n```",
    f"[{JSON}]",
    json.dumps({"tool": "read", "input": {"path": "a"}}),
    json.dumps({"name": "read", "parameters": {"path": "a"}}, indent=2),
    json.dumps({"type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}),
]
NO_CALLS = [
    "",
    "I read the file with `read`.",
    '{"name": "read", "rows": 3}',
    '{"name": "Ada", "arguments": {"path": "a"}}',
    f"Such a call is written as {JSON}, and then the server answers.",
    f"Models write\n\n```json\n{JSON}\n```\n\nand stop there.",
    '<invoke name="read"> is how a call begins in that form.',
    f"<tool_call>{JSON}</tool_call> is what it wrote.",
    "[1, 2, 3]",
    '{"name": "read", "arguments"',
    "<tool_call></tool_call>",
    "[" * 100_000,
]


@pytest.mark.parametrize("before", ["", "Let me look.\n\n"])
@pytest.mark.parametrize("text", FORMS)
def test_a_call_at_the_end_is_one(text: str, before: str) -> None:
    if before and text in FORMS[8:]:  # bare JSON is a call only where it is the whole answer
        assert written_call(before + text, TOOLS) is None
    else:
        assert written_call(before + text, TOOLS) == "read"
    assert written_call(before + text.replace("read", "delete_everything"), TOOLS) is None


@pytest.mark.parametrize("text", NO_CALLS, ids=range(len(NO_CALLS)))
def test_words_about_calls_are_an_answer(text: str) -> None:
    assert written_call(text, TOOLS) is None
