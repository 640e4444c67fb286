"""Writes samples/captured_http: what real clients sent to a scripted server, as real recorders wrote it; not run by the tests.

    python make_captured_http.py serve 9001                       # the scripted server, on the loopback interface
    mitmdump --mode reverse:http://127.0.0.1:9001 -p 9002 --set hardump=capture.har      # mitmproxy 11.0.2
    claude-tap --tap-no-launch --tap-port 9003 --tap-target http://127.0.0.1:9002 --tap-store-stream-events  # 0.1.146
    ANTHROPIC_BASE_URL=http://127.0.0.1:9003 claude -p "Please ask an agent how many files are here." --session-id ID
    ANTHROPIC_BASE_URL=http://127.0.0.1:9003 claude -p /compact --resume ID              # Claude Code 2.1.197
    ANTHROPIC_BASE_URL=http://127.0.0.1:9003 claude -p "And now?" --resume ID
    python make_captured_http.py call http://127.0.0.1:9002       # openai 3.57.0, google-genai 3.6.1
    python make_captured_http.py shorten FROM TO FOLDER HOME      # a capture or a transcript, where claude ran, and for whom

so one run of Claude Code is in its own transcript, in mitmproxy's HAR and in the database of claude-tap, whose lines are
what its dashboard exports. ``claude_trace.jsonl`` is written by the interceptor of claude-trace 1.0.9 around a script with
``fetch``. ``shorten`` replaces what Claude Code itself says to the model (prompts, descriptions of tools, lists of skills)
by its length, since those words are its maker's; names, schemas, cache marks and the order of everything stay.
The keys in the samples were made up for them.
"""

import gzip
import itertools
import json
import re
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]
NUMBERS = itertools.count(1)
ANSWERED = "There are two files: a.txt and b.txt."
SUMMARY = (
    "<analysis>\nThe user counted files.\n</analysis>\n<summary>\n1. Primary Request: the user asked to count the files of "
    "the folder with an agent, and the agent found two of them.\n</summary>"
)
LONG = 200
"""A text of the program that is longer than this is replaced."""
PROJECT = "/home/user/project"
HOME = "/home/user"
"""What the folder in which the client ran, and the user's, are called in the samples."""
TOLD = re.compile(
    r"^(<system-reminder>|Available agent types|The following skills|CRITICAL: Respond)"
)


def anthropic_blocks(body: Json) -> tuple[list[Json], str]:
    """Return the blocks of an answer and why it ended, by rules."""
    messages, tools = body["messages"], [tool.get("name") for tool in body.get("tools", [])]
    said, last = json.dumps(messages), json.dumps(messages[-1])
    if "CRITICAL: Respond with TEXT ONLY" in last:
        return [{"type": "text", "text": SUMMARY}], "end_turn"
    if not tools:
        return [{"type": "text", "text": '{"title": "Count the files"}'}], "end_turn"
    results = said.count('"tool_result"')
    if "COUNT-FILES" in json.dumps(messages[:2]) and "ask an agent" not in said:
        if results:
            return [{"type": "text", "text": ANSWERED}], "end_turn"
        given = {"command": "ls", "description": "List files"}
        return [
            {"type": "thinking", "thinking": "I list them.", "signature": "c2lnbmVk"},
            {"type": "tool_use", "name": "Bash", "input": given},
        ], "tool_use"
    agent = next((name for name in tools if name in ("Agent", "Task")), None)
    if "ask an agent" in said and not results and agent and "continued from a previous" not in said:
        prompt = "COUNT-FILES in this folder."
        given = {
            "description": "Count files",
            "prompt": prompt,
            "subagent_type": "general-purpose",
        }
        return [
            {"type": "text", "text": "I ask an agent."},
            {"type": "tool_use", "name": agent, "input": given},
        ], "tool_use"
    return [
        {"type": "text", "text": f"Done: two files, after {len(messages)} messages."}
    ], "end_turn"


def anthropic_events(message: Json, blocks: list[Json], stop: str, usage: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        match block["type"]:
            case "text":
                start, name, text = {"type": "text", "text": ""}, "text", block["text"]
            case "thinking":
                start, name, text = {**block, "thinking": ""}, "thinking", block["thinking"]
            case _:
                start, name, text = (
                    {**block, "input": {}},
                    "partial_json",
                    json.dumps(block["input"]),
                )
        kind = {"partial_json": "input_json_delta"}.get(name, f"{name}_delta")
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for offset in range(0, len(text), 15):
            delta = {"type": kind, name: text[offset : offset + 15]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}
    yield {"type": "message_stop"}


class Scripted(BaseHTTPRequestHandler):
    """Answers like Anthropic, OpenAI and Gemini."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def send_whole(self, content: bytes, kind: str = "application/json", status: int = 200) -> None:
        is_packed = kind.endswith("; packed")
        packed = gzip.compress(content) if is_packed else content
        self.send_response(status)
        self.send_header("content-type", kind.removesuffix("; packed"))
        if is_packed:
            self.send_header("content-encoding", "gzip")
        self.send_header("set-cookie", "session=COOKIESECRET0123456789")
        self.send_header("content-length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)

    def send_events(self, events: Iterator[Json] | list[Json], end: str = "") -> None:
        named = "".join(
            (f"event: {event['type']}\n" if "type" in event else "")
            + f"data: {json.dumps(event)}\n\n"
            for event in events
        )
        self.send_whole((named + end).encode(), "text/event-stream")

    def do_GET(self) -> None:
        self.send_whole(b'{"object": "list", "data": []}')

    do_HEAD = do_PUT = do_GET  # noqa: N815

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        number, path = next(NUMBERS), self.path.split("?")[0]
        if path.endswith("count_tokens"):
            self.send_whole(b'{"input_tokens": 4321}')
        elif path.endswith("/messages"):
            self.send_message(body, number)
        elif path.endswith("/chat/completions"):
            self.send_completion(body, number)
        elif path.endswith("/responses"):
            self.send_response_items(body, number)
        elif "enerateContent" in path:
            self.send_candidates(body, number, is_stream="stream" in path)
        else:
            self.send_whole(b"{}", status=404)

    def send_message(self, body: Json, number: int) -> None:
        blocks, stop = anthropic_blocks(body)
        for index, block in enumerate(blocks):
            if block["type"] == "tool_use":
                block["id"] = f"toolu_{number:04d}{index}"
        size = len(json.dumps(body)) // 4
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": size // 10,
            "cache_read_input_tokens": size - size // 10,
            "cache_creation": {
                "ephemeral_5m_input_tokens": size // 10,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": 40,
            "service_tier": "standard",
        }
        head = {
            "id": f"msg_{number:04d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "usage": {**usage, "output_tokens": 1},
        }
        if body.get("stream"):
            self.send_events(anthropic_events(head, blocks, stop, usage))
        else:
            whole = {**head, "content": blocks, "stop_reason": stop, "usage": usage}
            self.send_whole(json.dumps(whole).encode())

    def send_completion(self, body: Json, number: int) -> None:
        usage = {
            "prompt_tokens": 100 + 50 * len(body["messages"]),
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
        head = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
        }
        if not body.get("stream"):
            text = "A summary of what was read so far in a.txt: it says one."
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            whole = {**head, "choices": choices, "usage": usage}
            self.send_whole(json.dumps(whole).encode(), "application/json; packed")
            return
        is_call = not any(message["role"] == "tool" for message in body["messages"])
        begun = {"index": 0, "id": f"call_{number}", "type": "function"}
        calls = [
            {"tool_calls": [{**begun, "function": {"name": "read", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"pa'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": 'th": "a.txt"}'}}]},
        ]
        deltas: list[Json] = calls if is_call else [{"content": "It says "}, {"content": "one."}]
        finish = "tool_calls" if is_call else "stop"
        self.send_events(
            [
                *(
                    {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
                    for delta in deltas
                ),
                {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                {**head, "choices": [], "usage": usage},
            ],
            "data: [DONE]\n\n",
        )

    def send_response_items(self, body: Json, number: int) -> None:
        given = body["input"] if isinstance(body["input"], list) else []
        is_call = not any(item.get("type") == "function_call_output" for item in given)
        call = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_r{number}",
            "name": "read",
            "arguments": '{"path": "b.txt"}',
            "status": "completed",
        }
        content = [{"type": "output_text", "text": "It says two.", "annotations": []}]
        said = {
            "type": "message",
            "id": f"m_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        usage = {
            "input_tokens": 300,
            "input_tokens_details": {"cached_tokens": 128},
            "output_tokens": 15,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 315,
        }
        whole: Json = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body["model"],
            "output": [call if is_call else said],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }
        if not body.get("stream"):
            self.send_whole(json.dumps(whole).encode())
            return
        begun = {**whole, "status": "in_progress", "output": []}
        item = {"output_index": 0, "item": whole["output"][0]}
        kinds = ("created", "output_item.added", "output_item.done", "completed")
        more = ({"response": begun}, item, item, {"response": whole})
        self.send_events(
            [
                {"type": f"response.{kind}", "sequence_number": index, **fields}
                for index, (kind, fields) in enumerate(zip(kinds, more, strict=True))
            ]
        )

    def send_candidates(self, body: Json, number: int, *, is_stream: bool) -> None:
        is_call = "functionResponse" not in json.dumps(body["contents"])
        call = {"functionCall": {"name": "read", "args": {"path": "a.txt"}}}
        about = {"modelVersion": "gemini-2.5-pro", "responseId": f"gem_{number}"}
        usage = {
            "promptTokenCount": 250,
            "cachedContentTokenCount": 100,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 8,
            "totalTokenCount": 270,
        }
        last = {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [call if is_call else {"text": "It says one."}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": usage,
            **about,
        }
        thought = {"role": "model", "parts": [{"text": "I look. ", "thought": True}]}
        if is_stream:
            self.send_events([{"candidates": [{"content": thought}], **about}, last])
        else:
            self.send_whole(json.dumps(last).encode())


def call(base: str) -> None:
    """Have the clients of OpenAI and Google ask, use a tool, summarise and go on."""
    from google import genai  # noqa: PLC0415 - only this part needs the clients
    from google.genai import types  # noqa: PLC0415
    from openai import OpenAI  # noqa: PLC0415

    parameters = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }
    function = {"name": "read", "description": "Read a file.", "parameters": parameters}
    tools: Any = [{"type": "function", "function": function}]
    client: Any = OpenAI(api_key="sk-proj-SECRETSECRETSECRETSECRETSECRET", base_url=f"{base}/v1")
    client.models.list()
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What does a.txt say?"},
    ]

    def ask(messages: list[Json]) -> Json:
        text, arguments, name = "", "", ""
        options = {"include_usage": True}
        for chunk in client.chat.completions.create(
            model="gpt-5", messages=messages, tools=tools, stream=True, stream_options=options
        ):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for piece in choice.delta.tool_calls or []:
                    name, arguments = name or piece.id, arguments + piece.function.arguments
        function = {"name": "read", "arguments": arguments}
        calls = [{"id": name, "type": "function", "function": function}] if name else None
        return {"role": "assistant", "content": text or None} | (
            {"tool_calls": calls} if calls else {}
        )

    asked.append(answer := ask(asked))
    asked.append({"role": "tool", "tool_call_id": answer["tool_calls"][0]["id"], "content": "one"})
    asked.append(ask(asked))
    asked.append({"role": "user", "content": "Write down what was said so far."})
    summary = (
        client.chat.completions.create(model="gpt-5", messages=asked).choices[0].message.content
    )
    again = f"Summary of the earlier conversation: {summary}"
    ask(
        [
            asked[0],
            {"role": "user", "content": again},
            {"role": "user", "content": "What did it say?"},
        ]
    )

    offered: Any = [{"type": "function", **function}]
    with client.responses.stream(
        model="gpt-5", instructions="Be exact.", input="What does b.txt say?", tools=offered
    ) as stream:
        first = stream.get_final_response()
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "two"}
    client.responses.create(
        model="gpt-5",
        instructions="Be exact.",
        previous_response_id=first.id,
        input=[output],
        tools=offered,
    )

    options = types.HttpOptions(base_url=base)
    google = genai.Client(api_key="AIzaSySECRETSECRETSECRETSECRETSECRETSECR", http_options=options)
    schema = types.Schema(type="OBJECT", properties={"path": types.Schema(type="STRING")})
    declared = types.FunctionDeclaration(name="read", description="Read a file.", parameters=schema)
    config = types.GenerateContentConfig(
        system_instruction="Be kind.",
        tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text="And a.txt again?")])]
    parts: list[Any] = []
    for chunk in google.models.generate_content_stream(
        model="gemini-2.5-pro", contents=contents, config=config
    ):
        parts += chunk.candidates[0].content.parts
    result = types.FunctionResponse(name="read", response={"output": "one"})
    contents += [
        types.Content(role="model", parts=parts),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    google.models.generate_content(model="gemini-2.5-pro", contents=contents, config=config)


def shortened(value: Any, *, is_told: bool = False) -> Any:
    """Return a value of a capture or a transcript without the long words of the program."""
    if isinstance(value, dict):
        is_program = is_told or value.get("role") == "system" or value.get("type") == "attachment"
        kept = {
            name: shortened(inner, is_told=is_program or name == "system")
            for name, inner in value.items()
            if not (name == "description" and isinstance(inner, str) and "type" in value)
            and name not in ("$schema", "device_id", "user_id")
        }
        if "input_schema" in value:
            kept["description"] = f"({len(value.get('description', '')):,} characters)"
        return kept
    if isinstance(value, list):
        return [shortened(inner, is_told=is_told) for inner in value]
    if not isinstance(value, str):
        return value
    if value.startswith('{"') and len(value) > LONG:
        try:  # the body of a HAR entry
            return json.dumps(shortened(json.loads(value)))
        except ValueError:
            return value
    if len(value) > LONG and (is_told or TOLD.match(value)):
        first = value.split(":")[0][:60].split("\n")[0]
        return f"{first} ({len(value):,} characters of the program's own words)"
    return value


def shorten(source: Path, target: Path, folder: str, home: str) -> None:
    """Write a capture or a transcript without the long words of the program, and without the names of folders."""
    text = source.read_text()
    if source.suffix == ".har":
        made = json.dumps(shortened(json.loads(text)), indent=None)
    else:
        made = "".join(f"{json.dumps(shortened(json.loads(line)))}\n" for line in text.splitlines())
    made = made.replace(folder, PROJECT).replace(
        folder.replace("/", "-"), PROJECT.replace("/", "-")
    )
    target.write_text(made.replace(home, HOME))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port]:
            ThreadingHTTPServer(("127.0.0.1", int(port)), Scripted).serve_forever()
        case ["call", address]:
            call(address)
        case ["shorten", source, target, folder, home]:
            shorten(Path(source), Path(target), folder, home)
        case _:
            sys.exit(__doc__)
