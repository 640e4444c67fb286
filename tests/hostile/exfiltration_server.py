"""A server that records exfiltrated data, and a model that calls the tool a prompt names."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.hostile.clone import HostileClone, own_settings

from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.testing import FaultServer, ReceivedRequest

MANY = 60


class ExfiltrationServer:
    """A server that records every byte it receives."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                heard.append(self.rfile.readline(65_536))
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


ATTEMPTS = {
    "bash": {"command": "touch {marks}/tool-bash"},
    "python": {"code": "open(r'{marks}/tool-python', 'w').close()"},
    "write": {"path": ".git/hooks/pre-commit", "content": "touch {marks}/hook"},
    "edit": {"path": "palimpsest.toml", "old": "bypass", "new": "plan"},
    "read": {"path": ".env"},
    "linked": {"path": "AGENTS.md"},
    "backup": {"path": ".ENV"},
    "outside": {"path": "../home/private/notes.md"},
    "grep": {"pattern": "canary-words-of", "path": "."},
    "webfetch": {"url": "{exfiltration_url}/page"},
    "nested": {"path": "data/table.csv"},
}
"""The tool call that the model attempts, by a word in the prompt."""
TOOLS = {"linked": "read", "backup": "read", "outside": "read", "nested": "read"}


def _attempt(word: str, planted: HostileClone) -> ModelAnswer:
    fill = {"marks": str(planted.marks), "exfiltration_url": planted.exfiltration_url}
    arguments = {
        name: value.replace("{marks}", fill["marks"]).replace(
            "{exfiltration_url}", fill["exfiltration_url"]
        )
        for name, value in ATTEMPTS[word].items()
    }
    return calls(TOOLS.get(word, word), **arguments)


@contextmanager
def exfiltrating_model(planted: HostileClone) -> Iterator[FaultServer]:
    """Run the user's own model: it calls the tool that the prompt names, once."""

    def answer(request: ReceivedRequest) -> ModelAnswer:
        newest = request.body["messages"][-1]
        text = str(newest.get("content"))
        word = next((word for word in ATTEMPTS if f"try:{word}." in text), None)
        if newest["role"] == "user" and word is not None:
            return _attempt(word, planted)
        return says("Well.")

    with FaultServer(*([answer] * MANY)) as server:
        own_settings(planted.home, server.openai_base)
        yield server
