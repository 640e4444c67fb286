"""Writes samples/printed/ with the real writers, in their headless modes; not run by the tests.

    python make_printed_streams.py FOLDER CODEX_0_44 CODEX_0_42 CODEX_0_39 CODEX_0_20

Each argument is a folder of node_modules: @anthropic-ai/claude-code 2.1.197, @openai/codex 0.171.0 and
@google/gemini-cli 0.61.0, then @openai/codex of older versions. The programs run against a scripted provider on this
machine, which counts 1,000 more tokens of the prompt with each request.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "samples" / "printed"
CODEX = """
model = "gpt-5-codex"
model_provider = "scripted"
model_reasoning_summary = "detailed"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.txt\n+beta\n*** End Patch\nEOF\n"
PLAN = [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"}]
PROMPT = "What is in a.txt, and how long is b.txt?"
FAILS = "This is to fail."
Json = dict[str, Any]
NamedContent = tuple[str, Any]


def claude_answer(body: Json, project: str) -> list[NamedContent]:
    """Return the kinds and contents of the next answer: texts, thoughts, or tools with their inputs."""
    messages, tools = body["messages"], [tool["name"] for tool in body.get("tools", [])]
    done = [
        block
        for message in messages
        if message["role"] == "assistant" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    last = json.dumps(messages[-1])
    if not tools or "CRITICAL" in last:
        return [("text", "<summary>Two files were read.</summary>")]
    if "Thank you" in last:
        return [("text", "You are welcome.")]
    if "Count the words" in json.dumps(messages[0]):
        counting: list[NamedContent] = [
            ("text", "I count."),
            ("Read", {"file_path": f"{project}/b.txt"}),
        ]
        return [("text", "There are 3 words.")] if done else counting
    if not done:
        return [
            ("thinking", "The file has to be read."),
            ("text", "I read both."),
            ("Read", {"file_path": f"{project}/a.txt"}),
            ("Read", {"file_path": f"{project}/missing.txt"}),
        ]
    task = {"description": "Count the words", "prompt": "Count the words of b.txt"}
    if len(done) == 2:
        agent = next(name for name in tools if name in ("Agent", "Task"))
        return [(agent, task | {"subagent_type": "general-purpose"})]
    return [("text", "It says alpha; b.txt has 3 words.")]


def claude_events(body: Json, project: str, number: int) -> Iterator[Json]:
    answer = claude_answer(body, project)
    usage = {
        "input_tokens": 100 * number,
        "cache_creation_input_tokens": 1_000 + number,
        "cache_read_input_tokens": 5_000 * (number - 1),
        "output_tokens": 1,
        "service_tier": "standard",
    }
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    for index, (kind, what) in enumerate(answer):
        block: Json
        if kind == "text":
            block, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": what}]
        elif kind == "thinking":
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": what}]
            deltas += [{"type": "signature_delta", "signature": "c2lnbmF0dXJl"}]
        else:
            name = f"toolu_{number}_{index}"
            block = {"type": "tool_use", "id": name, "name": kind, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(what)}]
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    has_calls = any(kind not in ("text", "thinking") for kind, _ in answer)
    stop = {"stop_reason": "tool_use" if has_calls else "end_turn", "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": stop,
        "usage": usage | {"output_tokens": 20 + number},
    }
    yield {"type": "message_stop"}


def codex_answer(body: Json) -> list[NamedContent]:
    given = body["input"]
    asked = max(n for n, item in enumerate(given) if item.get("role") == "user")
    done = [item for item in given[asked:] if item.get("type") == "function_call"]
    names = [tool.get("name") for tool in body["tools"]]
    if "Thank you" in json.dumps(given[asked]):
        return [("say", "You are welcome.")]

    def shell(command: str) -> NamedContent:
        if "exec_command" in names:
            return "exec_command", {"cmd": command}
        return "shell", {"command": ["bash", "-lc", command]}

    script: dict[int, list[NamedContent]] = {
        0: [
            ("think", "The file has to be read."),
            ("say", "I read both."),
            shell("cat a.txt"),
            shell("cat missing.txt"),
        ],
        2: [("update_plan", {"plan": PLAN})],
        3: [shell(PATCH)],
    }
    return script.get(len(done), [("say", "It says alpha; b.txt was written.")])


def codex_events(body: Json, number: int) -> Iterator[Json]:
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    for index, (kind, what) in enumerate(codex_answer(body)):
        item: Json
        if kind == "say":
            content = [{"type": "output_text", "text": what, "annotations": []}]
            item = {"type": "message", "role": "assistant", "content": content}
        elif kind == "think":
            summary = [{"type": "summary_text", "text": what}]
            item = {"type": "reasoning", "summary": summary, "encrypted_content": "c2VjcmV0"}
        else:
            call = f"call_{number}_{index}"
            item = {"type": "function_call", "name": kind, "call_id": call}
            item |= {"arguments": json.dumps(what)}
        item["id"] = f"item_{number}_{index}"
        yield {"type": "response.output_item.added", "item": item, "output_index": index}
        yield {"type": "response.output_item.done", "item": item, "output_index": index}
    usage = {
        "input_tokens": 1_000 * number, "output_tokens": 20, "total_tokens": 1_000 * number + 20,
        "input_tokens_details": {"cached_tokens": 100 * number},
        "output_tokens_details": {"reasoning_tokens": 5},
    }  # fmt: skip
    ended = {"id": f"resp_{number}", "usage": usage, "output": []}
    yield {"type": "response.completed", "response": ended}


def gemini_chunks(body: Json, number: int) -> Iterator[Json]:
    done = "functionCall" in json.dumps(body["contents"])
    parts: list[list[Json]] = [[{"text": "It says "}], [{"text": "alpha."}]]
    if not done:
        calls = [
            {"functionCall": {"name": "read_file", "args": {"file_path": name}}}
            for name in ("a.txt", "missing.txt")
        ]
        thought = {"text": "**Reading** The file has to be read.", "thought": True}
        parts = [[thought], [{"text": "I read "}], [{"text": "both."}], calls]
    usage = {
        "promptTokenCount": 1_000 * number, "cachedContentTokenCount": 100 * number,
        "candidatesTokenCount": 20 + number, "thoughtsTokenCount": 5,
        "totalTokenCount": 1_000 * number + 25 + number,
    }  # fmt: skip
    for index, content in enumerate(parts):
        candidate: Json = {"index": 0, "content": {"role": "model", "parts": content}}
        if index == len(parts) - 1:
            candidate["finishReason"] = "STOP"
        yield {"candidates": [candidate], "usageMetadata": usage, "responseId": f"r{number}"}


class Provider(BaseHTTPRequestHandler):
    """Answers as the scripted model, in the form of the interface that is asked."""

    project = ""
    count = 0
    lock = threading.Lock()

    def log_message(self, *_said: Any) -> None: ...

    def do_GET(self) -> None:
        self.answer("application/json", b'{"data": [], "models": []}')

    do_HEAD = do_GET  # noqa: N815 - a name of http.server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path or "countTokens" in self.path:
            self.answer("application/json", b'{"input_tokens": 1000, "totalTokens": 1000}')
            return
        if FAILS in json.dumps(body):
            error = {"type": "invalid_request_error", "message": "It fails.", "code": 400}
            self.answer("application/json", json.dumps({"error": error}).encode(), 400)
            return
        with self.lock:
            Provider.count += 1
            number = self.count
        if "/messages" in self.path:
            events = claude_events(body, self.project, number)
        elif "/responses" in self.path:
            events = codex_events(body, number)
        else:
            events = gemini_chunks(body, number)
        lines = (
            f"{'event: ' + event['type'] + chr(10) if 'type' in event else ''}data: {json.dumps(event)}\n\n"
            for event in events
        )
        self.answer("text/event-stream", "".join(lines).encode())

    def answer(self, kind: str, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Place:
    """A home folder with a project, and the provider, for the runs of one program."""

    def __init__(self, folder: str) -> None:
        self.folder, self.project = folder, Path(folder, "project")
        self.project.mkdir()
        (self.project / "a.txt").write_text("alpha\n")
        (self.project / "b.txt").write_text("one two three\n")
        Provider.project, Provider.count = str(self.project), 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{self.server.server_port}"
        for name, content in (
            (".codex/config.toml", CODEX.format(port=self.server.server_port)),
            (".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'),
        ):
            path = Path(folder, name)
            path.parent.mkdir()
            path.write_text(content)
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "SCRIPTED_KEY": "none",
            "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }  # fmt: skip

    def start(self, *command: str | Path) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.project, env=self.environment, stdin=pipe, stdout=pipe, text=True
        )

    def keep(self, name: str, printed: str) -> None:
        """Write what was printed, without the names of this machine's folders."""
        slug = self.folder.replace("/", "-").replace("_", "-")
        printed = printed.replace(self.folder, "/home/user").replace(slug, "-home-user")
        (HERE / name).write_text(printed)


def run(name: str, *command: str | Path, then: Sequence[str | Path] = ()) -> None:
    """Write what a command prints, and what a second one prints after it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        place.keep(name, place.start(*command).communicate(timeout=120)[0])
        if then:
            stem, ending = name.split(".", 1)
            printed = place.start(*then).communicate(timeout=120)[0]
            place.keep(f"{stem}_resumed.{ending}", printed)
        for path in Path(folder, ".gemini").rglob("session-*.jsonl"):
            if name == "gemini.jsonl":
                place.keep("gemini_session.jsonl", path.read_text())
        place.server.shutdown()


def talk(name: str, command: Sequence[str | Path], prompts: Sequence[str]) -> None:
    """Write what a command prints that is given one prompt after the other."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        program = place.start(*command)
        assert program.stdin
        assert program.stdout
        printed = ""
        for prompt in prompts:
            message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
            program.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
            program.stdin.flush()
            for line in program.stdout:
                printed += line
                if line.startswith('{"type":"result"'):
                    break
        place.keep(name, printed + program.communicate(timeout=60)[0])
        place.server.shutdown()


def main() -> None:
    programs, *older = (Path(folder).absolute() / ".bin" for folder in sys.argv[1:])
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    allowed = ("--model", "claude-sonnet-4-5", "--allowedTools", "Read,Task,Agent")
    plain: list[str | Path] = [programs / "claude", "-p", *allowed, "--output-format"]
    claude = [*plain[:2], "--verbose", *plain[2:]]
    run("claude.jsonl", *claude, "stream-json", "--", PROMPT)
    run("claude_partial.jsonl", *claude, "stream-json", "--include-partial-messages", "--", PROMPT)
    run("claude_list.json", *claude, "json", "--", PROMPT)
    run("claude_result.json", *plain, "json", "--", PROMPT)
    run("claude_failed.jsonl", *claude, "stream-json", "--", FAILS)
    typed = ("stream-json", "--input-format", "stream-json", "--replay-user-messages")
    talk("claude_compaction.jsonl", [*claude, *typed], [PROMPT, "/compact", "Thank you"])
    free = "--dangerously-bypass-approvals-and-sandbox"
    codex: list[str | Path] = [programs / "codex", "exec", "--json", free]
    run("codex.jsonl", *codex, PROMPT, then=[*codex, "resume", "--last", "Thank you"])
    run("codex_failed.jsonl", *codex, FAILS)
    for version, folder in zip((44, 42, 39, 20), older, strict=True):
        form = "--experimental-json" if version == 42 else "--json"
        run(f"codex_{version}.jsonl", folder / "codex", "exec", form, free, PROMPT)
    gemini: list[str | Path] = [programs / "gemini", "-m", "gemini-2.5-pro", "-o"]
    run("gemini.jsonl", *gemini, "stream-json", "-p", PROMPT)
    run("gemini.json", *gemini, "json", "-p", PROMPT)
    run("gemini_failed.jsonl", *gemini, "stream-json", "-p", FAILS)


if __name__ == "__main__":
    sys.exit(main())
