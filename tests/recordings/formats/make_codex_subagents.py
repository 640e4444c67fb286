"""Writes samples/codex_subagents/ with the real writer, Codex 0.171.0 from npm's @openai/codex; not run by the tests.

    python make_codex_subagents.py FOLDER_OF_NODE_MODULES

The program runs against a scripted provider on this machine: once with the first version of its tools for
subagents, once with the second, and once as a review.
"""

import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "samples" / "codex_subagents"
BINARY = (
    "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"  # of this kind of machine
)
CONFIG = """
model = "gpt-5-codex"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
supports_websockets = false
"""
MAX_REQUESTS = 60
Item = dict[str, Any]


def answers(body: Item, version: str) -> Iterator[tuple[str, Any]]:
    """Yield what the scripted model does: ``("say", text)``, or the name of a tool with its arguments."""
    given = [entry for entry in body["input"] if entry.get("type") in ("message", "agent_message")]
    prompt_text = json.dumps(
        [
            entry
            for entry in body["input"]
            if entry.get("role") != "developer" and entry.get("type") != "function_call"
        ]
    )
    done = [entry for entry in body["input"] if entry.get("type") == "function_call"]
    asked = json.dumps(given[-1])
    if "Count the tests" in asked:
        yield "say", "There are 12 tests."
    elif "Do they pass?" in asked:
        yield "say", "All of them pass."
    elif "Name the modules" in prompt_text:
        yield "say", "a.py, then b.py."
    elif "Review the current" in prompt_text:
        yield "say", "Nothing to say about it."
    else:
        yield from root(done, body, version, prompt_text)


def root(done: list[Item], body: Item, version: str, prompt_text: str) -> Iterator[tuple[str, Any]]:
    spawned = [
        entry["output"] for entry in body["input"] if entry.get("type") == "function_call_output"
    ]
    if not done:
        count: Item = {"message": "Count the tests"}
        name: Item = {"message": "Name the modules"}
        if version == "v2":
            count |= {"task_name": "count_tests", "fork_turns": "none"}
            name |= {"task_name": "name_modules", "fork_turns": "all"}
        else:
            name |= {"fork_context": True}
        yield "spawn_agent", count
        yield "spawn_agent", name
        return
    followed = [entry for entry in done if "Do they pass?" in entry["arguments"]]
    first = json.loads(spawned[0])
    target = first.get("agent_id") or first["task_name"]
    ready = "There are 12 tests." in prompt_text and "a.py, then b.py." in prompt_text
    if (not followed and not ready) or (followed and "All of them pass." not in prompt_text):
        at = 1 if not followed and "There are 12 tests." in prompt_text else 0
        whom = {} if version == "v2" else {"targets": [json.loads(spawned[at])["agent_id"]]}
        yield "wait_agent", {"timeout_ms": 20_000, **whom}
    elif not followed:
        name = "followup_task" if version == "v2" else "send_input"
        yield name, {"target": target, "message": "Do they pass?"}
    else:
        yield "say", "12 tests, in two modules; they pass."


class Provider(BaseHTTPRequestHandler):
    """Answers as the scripted model."""

    version = ""
    count = 0
    lock = threading.Lock()

    def log_message(self, *_said: Any) -> None: ...

    def do_GET(self) -> None:
        self.answer("application/json", b'{"data": [], "models": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            Provider.count += 1
            number = self.count
        groups = {
            tool["name"]: entry["name"]
            for entry in body.get("tools", [])
            if entry.get("type") == "namespace"
            for tool in entry["tools"]
        }
        events: list[Item] = [{"type": "response.created", "response": {"id": f"resp_{number}"}}]
        for index, (kind, what) in enumerate(answers(body, self.version)):
            if kind == "say":
                content = [{"type": "output_text", "text": what, "annotations": []}]
                item: Item = {"type": "message", "role": "assistant", "content": content}
            else:
                item = {
                    "type": "function_call", "name": kind, "namespace": groups[kind],
                    "call_id": f"call_{number}_{index}", "arguments": json.dumps(what),
                }  # fmt: skip
            item["id"] = f"item_{number}_{index}"
            events.append({"type": "response.output_item.done", "item": item})
        if number > MAX_REQUESTS:
            raise RuntimeError("The script goes round in a circle.")
        usage = {
            "input_tokens": 1_000 * number, "output_tokens": 20, "total_tokens": 1_000 * number + 20,
            "input_tokens_details": {"cached_tokens": 100 * number},
            "output_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        ended = {"id": f"resp_{number}", "usage": usage}
        events.append({"type": "response.completed", "response": ended})
        said = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.answer("text/event-stream", "".join(said).encode())

    def answer(self, kind: str, content: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def run(binary: Path, version: str, *arguments: str) -> None:
    Provider.version, Provider.count = version, 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, ".codex"), Path(folder, "project")
        home.mkdir()
        project.mkdir()
        (home / "config.toml").write_text(CONFIG.format(port=server.server_port))
        subprocess.run(["git", "init", "-q", project], check=True)
        (project / "a.py").write_text("a = 1\n")
        subprocess.run(
            [binary, "exec", "-s", "read-only", *arguments],
            cwd=project,
            env={**os.environ, "HOME": folder, "CODEX_HOME": str(home), "SCRIPTED_KEY": "none"},
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )
        server.shutdown()
        for path in (home / "sessions").rglob("*.jsonl"):
            target = HERE / version / path.relative_to(home / "sessions")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_text().replace(folder, "/home/user")
            target.with_name(f"{target.name}.xz").write_bytes(lzma.compress(content.encode()))


def main() -> None:
    binary = Path(sys.argv[1]).absolute() / BINARY
    shutil.rmtree(HERE, ignore_errors=True)
    prompt = "Look at the tests and the modules."
    run(binary, "v1", prompt)
    run(binary, "v2", "--enable", "multi_agent_v2", prompt)
    run(binary, "review", "review", "--uncommitted")


if __name__ == "__main__":
    sys.exit(main())
