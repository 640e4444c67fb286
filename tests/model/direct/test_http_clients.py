"""Connections of the direct way: kept for the next request, closed by a stop, and keys that stay with their server."""

import ast
import asyncio
import inspect
from contextlib import suppress
from pathlib import Path

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.openai_chunks import END, chunk
from tests.model.raw_server import LENGTH, OpenServer

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct import http_clients
from palimpsest.model.direct.direct_model import (
    LAST_DEFINED,
    DirectModel,
    _loaded_clients,
    import_clients,
)
from palimpsest.model.interface import StepFinished
from palimpsest.transcript.errors import ApiError, AuthError, UnknownError

STREAM = (chunk(content="Hi.") + chunk("stop") + END).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + f"{len(STREAM):x}\r\n".encode()
    + STREAM
    + b"\r\n0\r\n\r\n"
)
UNENDED = ANSWER.removesuffix(b"0\r\n\r\n")


class KeepingServer(OpenServer):
    """Serves the answers, the last repeatedly, and stores the heads of all requests by connection."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__()
        self.answers = list(answers)
        self.connections: list[list[str]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads: list[str] = []
        self.connections.append(heads)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                await reader.readexactly(int(length[1]) if length else 0)
                heads.append(head.decode().lower())
                writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
                await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def model() -> DirectModel:
    return DirectModel(LitellmModel(), read_timeout_seconds=20.0)


async def test_a_connection_is_used_again_after_a_whole_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a loaded machine the end of an answer may come later than a user would wait for it.
    monkeypatch.setattr(http_clients, "MAX_REST_SECONDS", 60.0)
    async with KeepingServer(ANSWER).listening() as server:
        asked = request(info("openai", api_base=server.base))
        for _ in range(3):
            events, error = await run(asked, model())
            assert error is None
            assert isinstance(events[-1], StepFinished)

    assert [len(connection) for connection in server.connections] == [3]


async def test_an_answer_whose_bytes_do_not_end_is_whole_and_its_connection_is_not_used_again() -> (
    None
):
    async with KeepingServer(UNENDED, ANSWER).listening() as server:
        asked = request(info("openai", api_base=server.base))
        errors = [(await run(asked, model()))[1] for _ in range(2)]

    assert errors == [None, None]
    assert [len(connection) for connection in server.connections] == [1, 1]


async def test_requests_side_by_side_have_a_connection_each() -> None:
    async with KeepingServer(ANSWER).listening() as server:
        asked = request(info("openai", api_base=server.base))
        found = await asyncio.gather(*[run(asked, model()) for _ in range(6)])

    assert [error for _, error in found] == [None] * 6
    assert sum(len(connection) for connection in server.connections) == 6


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_redirect_to_another_server_does_not_take_the_key_along(
    provider: str,
) -> None:
    async with KeepingServer(ANSWER).listening() as other:
        place = f"location: {other.base}/elsewhere\r\n".encode()
        moved = b"HTTP/1.1 307 Moved\r\ncontent-length: 0\r\n" + place + b"\r\n"
        async with KeepingServer(moved).listening() as server:
            await run(request(info(provider, api_base=server.base)), model())

    [[first]], [[second]] = server.connections, other.connections
    assert "sk-" in first
    assert "sk-" not in second


async def test_a_redirect_on_the_same_server_takes_it_along() -> None:
    moved = b"HTTP/1.1 307 Moved\r\ncontent-length: 0\r\nlocation: /v2/chat\r\n\r\n"
    async with KeepingServer(moved, ANSWER).listening() as server:
        _, error = await run(request(info("openai", api_base=server.base)), model())

    assert error is None
    assert all("sk-test" in head for heads in server.connections for head in heads)


async def test_a_redirect_without_end_is_told() -> None:
    moved = b"HTTP/1.1 307 Moved\r\ncontent-length: 0\r\nlocation: /v1/again\r\n\r\n"
    async with KeepingServer(moved).listening() as server:
        _, error = await run(request(info("openai", api_base=server.base)), model())

    assert isinstance(error, ApiError)
    assert "leads from one address to another without end" in error.message


async def test_the_end_of_a_huge_error_is_not_read() -> None:
    head = b"HTTP/1.1 500 Broken\r\ncontent-type: text/plain\r\n\r\n"
    async with KeepingServer(head + b"It broke. " * 200_000).listening() as server:
        _, error = await run(request(info("openai", api_base=server.base)), model())

    assert isinstance(error, ApiError)
    assert error.status == 500
    assert len(error.message) < 2_000


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("groq", "GROQ_API_KEY")],
)
async def test_without_a_key_nothing_is_sent_and_its_variable_is_named(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)

    _, error = await run(request(info(provider)), model())

    assert isinstance(error, AuthError)
    assert f"Set the environment variable {variable}" in error.message


async def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    _, error = await run(request(info("openai", api_base="https://127.0.0.1:1/v1")), model())

    assert isinstance(error, UnknownError)
    assert str(file) in error.message
    assert "Set SSL_CERT_FILE" in error.message


def test_the_module_is_known_as_loaded_once_it_is() -> None:
    clients = import_clients()
    functions = [
        node.name for node in ast.parse(inspect.getsource(clients)).body if hasattr(node, "name")
    ]

    assert functions[-1] == LAST_DEFINED
    assert _loaded_clients() is clients
