"""A message of a server is bounded in bytes and values, and whoever breaks a bound is stopped with a sentence."""

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.tools import ScriptedUser, ToolHarness
from tests.sample_size import sampled_cases, thinned
from tests.tools.mcp.test_hostile_servers import serving, tools

from palimpsest.tools.mcp import message_bounds
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.message_bounds import (
    EVENT_END,
    LINE_END,
    MAX_MESSAGE_BYTES,
    MessageSplitter,
    MessageTooLarge,
    value_count,
)
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.errors import UserError

BYTES = "The MCP server 'x' sent a message of more than 16 MB, without an end so far, so it was stopped."
VALUES = "The MCP server 'x' sent a message of more than 500,000 values, so it was stopped."


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"bc", b"\n\n", b""])))
def test_pieces_become_the_messages_that_the_whole_would(pieces: list[bytes]) -> None:
    for end in (LINE_END, EVENT_END):
        taken = MessageSplitter(end)
        messages = [line for piece in pieces for line in taken.complete_messages(piece)]

        assert b"".join([*messages, taken.remaining_bytes()]) == b"".join(pieces)
        assert all(end.search(line) for line in messages)
    lines = MessageSplitter(LINE_END)
    messages = [line for piece in pieces for line in lines.complete_messages(piece)]
    assert [*messages, lines.remaining_bytes()] == re.split(b"(?<=\n)", b"".join(pieces))


@given(
    st.recursive(
        st.none() | st.text() | st.floats(allow_nan=False),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_no_value_goes_uncounted(value: Any) -> None:
    def counted(value: Any) -> int:
        inner = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        return 1 + sum(map(counted, inner))

    assert counted(value) <= 1 + 2 * value_count(json.dumps(value).encode())


def fill(taken: MessageSplitter) -> None:
    for _ in range(MAX_MESSAGE_BYTES):
        list(taken.complete_messages(b"x" * 65_536))


def test_nothing_is_held_beyond_the_bound_and_time_is_in_proportion() -> None:
    for end in (LINE_END, EVENT_END, None):
        taken = MessageSplitter(end)
        began = time.process_time()

        with pytest.raises(MessageTooLarge):
            fill(taken)

        assert len(taken._incomplete_message) <= MAX_MESSAGE_BYTES + 65_536
        assert time.process_time() - began < 5


def test_signs_in_texts_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_bounds, "MAX_MESSAGE_VALUES", 10)

    assert value_count(json.dumps({"a": 'b, "[' * 100}).encode()) == 1
    assert value_count(json.dumps([["\\", 1] for _ in range(20)]).encode()) > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"), thinned([("endless", BYTES), ("hollow", VALUES)], 2), ids=["bytes", "values"]
)
async def test_a_call_answered_without_an_end_costs_a_sentence_and_its_server(
    tmp_path: Path, name: str, words: str
) -> None:
    async with serving(tmp_path, tools(name, "t")) as (mcp, harness, reports):
        assert reports == ()

        with pytest.raises(UserError) as raised:
            await harness.call(f"x_{name}")

        assert str(raised.value) == f"{words} It is started again at the next prompt."
        assert mcp.status()[0].state == "failed"
        assert mcp.status()[0].problem == words
        if name == "endless":
            assert int((tmp_path / "taken").read_text()) < 20, "no more was taken"
        await mcp.turn_began()
        assert json.loads((await harness.call("x_t")).output)[0]["name"] == "t"


@pytest.mark.soak  # with each commit a call that is answered without an end does, above; this adds the first words
@pytest.mark.slow
@pytest.mark.parametrize("method", sampled_cases(["initialize", "tools/list"], "initialize"))
async def test_a_server_that_never_ends_its_first_words_costs_a_sentence(
    tmp_path: Path, method: str
) -> None:
    async with serving(tmp_path, tools("t"), endless=method) as (mcp, _harness, reports):
        assert reports == (BYTES,)
        assert mcp.status()[0].state == "failed"


@pytest.mark.soak  # with each commit signs in texts are no values, above; this adds a server that sends them
@pytest.mark.slow
async def test_a_long_text_with_many_commas_is_a_message(tmp_path: Path) -> None:
    async with serving(tmp_path, tools("prose")) as (_found, harness, _said):
        assert json.loads((await harness.call("x_prose")).output)[0]["name"] == "prose"


class Hostile(BaseHTTPRequestHandler):
    """An MCP server over HTTP whose answers to calls never end."""

    protocol_version = "HTTP/1.1"
    how = "json"
    taken = 0

    def do_POST(self) -> None:  # the base class's name
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, method = message.get("id"), message.get("method")
        if number is None:
            self._send(202, b"", {})
        elif method == "initialize":
            offers = {"tools": {}}
            server = {"name": "x", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": offers, "serverInfo": server}
            self._answer(number, result)
        elif method == "tools/list":
            self._answer(number, {"tools": tools("t")})
        elif method == "tools/call":
            self._hostile(number)
        else:
            error = {"code": -32601, "message": "There is no such method."}
            self._answer(number, error, "error")

    def do_GET(self) -> None:
        self._send(405, b"", {})

    do_DELETE = do_GET  # noqa: N815

    def _answer(self, number: Any, said: Any, kind: str = "result") -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, kind: said}).encode()
        self._send(200, body, {"Content-Type": "application/json"})

    def _hostile(self, number: Any) -> None:
        text = '{"jsonrpc": "2.0", "method": "x", "params": {"a": [' + "[]," * 3_000_000 + "[]]}}"
        match type(self).how:
            case "json":
                self._endless("application/json", b"[")
            case "events":
                self._endless("text/event-stream", b"event: message\ndata: [")
            case "values":
                self._send(200, text.encode(), {"Content-Type": "application/json"})
            case "event of values":
                body = f"event: message\ndata: {text}\n\n".encode()
                self._send(200, body, {"Content-Type": "text/event-stream"})
            case "packed":
                headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
                self._send(200, b"\x1f\x8b", headers)
            case _:
                self._answer(number, {"content": []})

    def _endless(self, kind: str, begin: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(begin)
        for megabyte in range(200):
            self.wfile.write(b" " * 1_000_000)
            type(self).taken = megabyte + 1

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Quiet(ThreadingHTTPServer):
    """A server that does not print that its client went away."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    Hostile.taken = 0
    server = Quiet(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()


PACKED = "The MCP server 'x' packed its answer, which was not asked for, so it was stopped."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "words"),
    thinned(
        [
            ("json", BYTES),
            ("events", BYTES),
            ("values", VALUES),
            ("event of values", VALUES),
            ("packed", PACKED),
        ],
        5,
    ),
)
async def test_an_answer_over_http_is_bounded_too(
    tmp_path: Path, address: str, how: str, words: str
) -> None:
    harness = ToolHarness(tmp_path, registry=Registry())
    harness.user = ScriptedUser()
    servers = McpServers([McpServerSpec("x", url=address)], harness.registry, {}, tmp_path)
    Hostile.how = ""
    try:
        assert await servers.turn_began() == ()
        await harness.call("x_t")
        Hostile.how = how

        with pytest.raises(UserError) as raised:
            await harness.call("x_t")

        assert str(raised.value) == f"{words} It is started again at the next prompt."
        assert Hostile.taken < 30
        assert servers.status()[0].problem == words
        Hostile.how = ""
        await servers.turn_began()
        assert (await harness.call("x_t")).title
    finally:
        await servers.close()
