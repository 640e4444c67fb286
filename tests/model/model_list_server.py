"""A loopback server that lists its models as Ollama and as an OpenAI-compatible server do."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def listing_server(port: int = 0) -> Iterator[str]:
    """Run the server in a thread; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """Request handler for the routes of both kinds of server."""

    def do_GET(self) -> None:
        listed: dict[str, object] = {
            "models": [{"name": "qwen:latest"}],
            "data": [{"id": "served"}],
        }
        if self.path.startswith("/keyed"):
            listed = {
                "data": [
                    {"id": name}
                    for name in ("text-embedding-3", "qwen3-8b", "whisper-1", "llama-4")
                ]
            }
            if self.headers["authorization"] != "Bearer sk-right":
                listed = {"detail": "Unauthorized"}
        self.answer(listed)

    def do_POST(self) -> None:
        facts = {"qwen.context_length": 131_072}
        self.answer({"model_info": facts, "capabilities": ["tools"]})

    def answer(self, value: dict[str, object]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return
