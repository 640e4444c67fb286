"""A scripted answer that waits keeps nobody waiting who cancels, and a server waits for events, not for seconds."""

import asyncio
import socket
import threading

import pytest
from tests.model.adapter_requests import info, request

from palimpsest.model.interface import ModelRequest
from palimpsest.testing import FaultServer, ModelAnswer, ScriptedModel, isolated_session, says
from palimpsest.testing.answer_functions import call_answer_function

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"


async def test_a_cancelled_request_does_not_wait_for_the_function_that_answers_it() -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def waits(_: ModelRequest) -> ModelAnswer:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        return says("Late.")

    model = ScriptedModel(waits)

    async def drain() -> None:
        async for _ in model.stream(request(info("openai"))):
            pass

    running = asyncio.create_task(drain())
    await begun.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    go_on.set()


def test_a_session_is_cancelled_while_its_model_waits() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def waits(_: ModelRequest) -> ModelAnswer:
        begun.set()
        go_on.wait()
        return says("Late.")

    with isolated_session(ScriptedModel(waits)) as session:
        stopper = threading.Thread(target=lambda: (begun.wait(), session.cancel()))
        stopper.start()

        answer = session.prompt("Wait for me.")

        stopper.join()
    go_on.set()
    assert answer.stopped_by == "cancelled"


async def test_what_a_function_raises_is_raised_where_its_answer_is_awaited() -> None:
    def fails(_: int) -> str:
        raise LookupError("no such answer")

    with pytest.raises(LookupError, match="no such answer"):
        await call_answer_function(fails, 1)


def test_a_server_answers_others_and_stops_while_a_function_waits() -> None:
    go_on = threading.Event()

    def waits(_: object) -> ModelAnswer:
        go_on.wait()
        return says("Late.")

    with FaultServer(waits, says("At once.")) as server:
        place = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        with socket.create_connection(place) as first, socket.create_connection(place) as second:
            first.sendall(HEAD)
            assert server.wait_until(lambda: len(server.requests) == 1)
            second.sendall(HEAD)
            assert b"200" in second.recv(100)
    go_on.set()


def test_waiting_ends_with_the_event_or_where_a_number_of_seconds_says_so() -> None:
    with FaultServer() as server:
        assert not server.wait_until(lambda: False, seconds=0)
        assert server.wait_until(lambda: True)
