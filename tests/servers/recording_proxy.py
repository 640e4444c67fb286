"""A proxy between a session and a server that records requests and normalises Gemini's field names.

Google's JSON accepts ``functionCall`` and ``function_call`` alike, and litellm writes the second; aimock
knows only the first. So fields of Gemini's format are renamed on the way, but never inside a call's input,
a result or a tool's schema.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.waiting import LAST_RESORT_SECONDS

FREE = frozenset({"args", "response", "parameters"})
"""Fields whose content is not part of the format."""


def renamed(value: Any) -> Any:
    """Return a value with the format's fields in camel case.

    >>> renamed({"function_call": {"name": "look", "args": {"file_name": 1}}})
    {'functionCall': {'name': 'look', 'args': {'file_name': 1}}}
    """
    match value:
        case dict():
            return {
                _camel(name): one if name in FREE else renamed(one) for name, one in value.items()
            }
        case list():
            return [renamed(one) for one in value]
        case _:
            return value


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


class TrafficRecorder:
    """A running recording proxy."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[Any] = []
        """The received bodies, in order, before renaming."""


@contextmanager
def relaying(url: str) -> Iterator[TrafficRecorder]:
    """Forward requests to a server and its responses back."""
    relay = TrafficRecorder("")

    class Between(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = loads(self.rfile.read(int(self.headers["content-length"])))
            relay.bodies.append(body)
            sent = renamed(body) if "contents" in body else body
            asked = Request(f"{url}{self.path}", dumps(sent).encode())
            asked.add_header("content-type", "application/json")
            try:
                answer = urlopen(asked, timeout=LAST_RESORT_SECONDS)
            except HTTPError as refused:
                answer = refused
            with answer:
                said = answer.read()
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers["content-type"])
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        relay.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield relay
        server.shutdown()
        thread.join()
