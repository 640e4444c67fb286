"""A thief on loopback, and a model that tries whatever tool a prompt names."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.hostile.clone import HostileClone, own_settings

from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.testing import FaultServer, ReceivedRequest

MANY = 60


class ExfiltrationServer:
    """A server that writes down whatever reaches it, to the byte."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                heard.append(self.rfile.readline(65_536))
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
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
    "webfetch": {"url": "{thief}/page"},
    "nested": {"path": "data/table.csv"},
}
"""What the model is asked to try, by a word in the prompt."""
TOOLS = {"linked": "read", "backup": "read", "outside": "read", "nested": "read"}


def _attempt(word: str, planted: HostileClone) -> ModelAnswer:
    fill = {"marks": str(planted.marks), "thief": planted.thief}
    arguments = {
        name: value.replace("{marks}", fill["marks"]).replace("{thief}", fill["thief"])
        for name, value in ATTEMPTS[word].items()
    }
    return calls(TOOLS.get(word, word), **arguments)


@contextmanager
def model_that_tries(planted: HostileClone) -> Iterator[FaultServer]:
    """Run the person's own model: it calls the tool that the prompt names, once."""

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
