"""The fault server answers as scripted and stores no API key."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.model.valid_bodies import ANTHROPIC, GEMINI, MISTRAL, OPENAI
from tests.provider_rules.dialects import problems
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import ModelAnswer, calls, fails, says, thinks
from palimpsest.model.script_file import parse_scenario, read_scenario
from palimpsest.testing import FaultServer
from palimpsest.testing.dialects import WireFormat
from palimpsest.transcript.errors import UserError


def post(url: str, body: dict[str, Any], **headers: str) -> tuple[int, dict[str, str], bytes]:
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=LAST_RESORT_SECONDS) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, dict(refused.headers), refused.read()


def test_speaks_openais_stream() -> None:
    with FaultServer(says("Hi there.").reports(input=3, output=2)) as server:
        status, headers, body = post(f"{server.openai_base}/chat/completions", {"model": "m"})

    lines = [line[6:] for line in body.decode().split("\n") if line.startswith("data: ")]
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    said = [c["choices"][0]["delta"].get("content") for c in chunks if c["choices"]]
    assert said == ["", "Hi ", "there.", None]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] == 5


def test_speaks_anthropics_stream() -> None:
    with FaultServer(says("Hi.").calls("python", code="1")) as server:
        _, _, body = post(f"{server.anthropic_base}/v1/messages", {"model": "m"})

    events = [line[7:] for line in body.decode().split("\n") if line.startswith("event: ")]
    assert events == [
        "message_start",
        *["content_block_start", "content_block_delta", "content_block_stop"],
        *[
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
        ],
        "message_delta",
        "message_stop",
    ]


def test_records_requests_without_their_keys() -> None:
    with FaultServer(says("Hi.")) as server:
        keys = {"Authorization": "Bearer secret", "X-Api-Key": "secret", "X-Other": "kept"}
        post(f"{server.url}/v1/messages", {"model": "m", "n": 1}, **keys)

    (asked,) = server.requests
    assert (asked.path, asked.body, asked.completed) == (
        "/v1/messages",
        {"model": "m", "n": 1},
        True,
    )
    assert asked.headers["x-other"] == "kept"
    assert asked.had_key
    assert "secret" not in repr(asked)


def test_refuses_with_headers_and_names_an_empty_script() -> None:
    with FaultServer(fails(429, retry_after="Tue, 14 Nov 2023 22:13:50 GMT")) as server:
        refused, headers, _ = post(f"{server.url}/v1/messages", {})
        empty, _, body = post(f"{server.openai_base}/chat/completions", {})

    assert (refused, headers["retry-after"]) == (429, "Tue, 14 Nov 2023 22:13:50 GMT")
    assert (empty, json.loads(body)["error"]["message"]) == (
        400,
        "The script has no answer for request 2.",
    )


def test_notices_that_a_client_hung_up() -> None:
    with FaultServer(says("One").stalls()) as server:
        port = int(server.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            assert client.recv(10)
            assert server.open_connections == 1

        assert server.wait_until(lambda: server.open_connections == 0)
    assert server.requests[0].closed_after is not None
    assert not server.requests[0].completed


def test_stops_while_an_answer_hangs() -> None:
    with FaultServer(says("One").stalls()) as server:
        port = int(server.url.rpartition(":")[2])
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        assert client.recv(10)
    client.close()


def test_a_connection_without_a_request_is_not_counted_and_ends_with_the_server() -> None:
    """Such as a kernel's client that looks for the kernel on the port which the server has now."""
    with FaultServer() as server:
        stray = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
        stray.sendall(b"\xff" + bytes(8) + b"\x7f")
        with urllib.request.urlopen(f"{server.openai_base}/models") as answer:
            assert answer.status == 200
        assert server.wait_until(lambda: server.open_connections == 0)
    with stray:
        assert stray.recv(10) == b""


SCENARIO = [
    {"fails": 429, "retry_after": 2},
    [{"says": "Look."}, {"calls": "python", "input": {"code": "1"}}, {"finishes": "stop"}],
    [{"says": "Half"}, {"disconnects": True}],
]


def test_a_scenario_file_says_the_same_as_code(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(SCENARIO))

    assert read_scenario(path) == (
        fails(429, retry_after=2),
        says("Look.").calls("python", code="1").finishes("stop"),
        says("Half").disconnects(),
    )


@pytest.mark.parametrize("value", [{}, [{"sings": "la"}], [{"says": "a", "fails": 1}], [3]])
def test_a_wrong_scenario_is_explained(value: Any) -> None:
    with pytest.raises(UserError, match="scenario"):
        parse_scenario(value)


def test_a_missing_scenario_is_explained(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[")

    for name in ("none.json", "bad.json"):
        with pytest.raises(UserError, match=name):
            read_scenario(tmp_path / name)


@pytest.mark.slow
def test_runs_as_a_program_for_lessons(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps([{"says": "Hi."}]))
    program = [sys.executable, "-m", "palimpsest.testing", "--scenario", str(path)]
    with subprocess.Popen([*program, "--port", "0"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        base = running.stdout.readline().split()[0].partition("=")[2]
        status, _, body = post(f"{base}/chat/completions", {"model": "m"})
        running.terminate()

    assert (status, b'"Hi."' in body) == (200, True)


def test_a_function_may_answer() -> None:
    def answer(asked: Any) -> ModelAnswer:
        return calls("python", code=asked.body["model"])

    with FaultServer(answer) as server:
        _, _, body = post(f"{server.openai_base}/chat/completions", {"model": "mine"})

    assert b"mine" in body


PATHS: dict[WireFormat, str] = {
    "openai": "/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    "mistral": "/chat/completions",
}
GOOD: dict[WireFormat, dict[str, Any]] = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "mistral": MISTRAL,
}
REFUSALS: dict[WireFormat, dict[str, Any]] = {
    "openai": {
        "error": {"message": "temperature", "type": None, "param": None, "code": None},
    },
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": ""}},
    "gemini": {"error": {"code": 400, "message": "", "status": "INVALID_ARGUMENT"}},
    "mistral": {
        "object": "error",
        "message": "",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    },
}


def shape(value: Any) -> Any:
    """Return the structure of an error, without its texts."""
    if isinstance(value, dict):
        return {k: "" if k == "message" else shape(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize("dialect", PATHS)
def test_a_strict_server_refuses_as_the_provider_does_and_then_goes_on(dialect: WireFormat) -> None:
    with FaultServer(says("Hi."), check=problems) as server:
        url = server.base(dialect) + PATHS[dialect]
        refused, _, body = post(url, {**GOOD[dialect], "temperature": 9, "colour": "red"})
        taken, _, _ = post(url, GOOD[dialect])

    assert (refused, taken) == (400, 200)
    assert shape(json.loads(body)) == shape(REFUSALS[dialect])
    assert b"colour is no field that this provider knows." in body
    assert [bool(asked.problems) for asked in server.requests] == [True, False]


@pytest.mark.parametrize("dialect", PATHS)
def test_a_server_that_is_not_strict_answers_anything(dialect: WireFormat) -> None:
    with FaultServer(says("Hi.")) as server:
        status, _, _ = post(server.base(dialect) + PATHS[dialect], {"colour": "red"})

    assert status == 200


@pytest.mark.parametrize("raw", [b"{", b'{"a": "\xff"}', b"[]"])
def test_a_body_that_is_no_object_in_utf_8_is_refused_by_all(raw: bytes) -> None:
    with FaultServer(says("Hi.")) as server:
        asked = urllib.request.Request(f"{server.url}/v1/messages", raw)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=LAST_RESORT_SECONDS)
        refused.value.close()

    assert refused.value.code == 400


def test_speaks_geminis_stream() -> None:
    story = thinks("Hm.").says("Hi there.").calls("python", code="1").reports(input=3, output=2)
    with FaultServer(story) as server:
        _, _, body = post(server.base("gemini") + PATHS["gemini"], {"contents": []})

    frames = [json.loads(line[6:]) for line in body.decode().split("\n") if line]
    parts = [part for frame in frames for part in frame["candidates"][0]["content"]["parts"]]
    assert parts == [
        {"text": "Hm.", "thought": True},
        {"text": "Hi "},
        {"text": "there."},
        {"functionCall": {"name": "python", "args": {"code": "1"}}, "thoughtSignature": "sig-1"},
    ]
    assert frames[-1]["candidates"][0]["finishReason"] == "STOP"
    assert frames[-1]["usageMetadata"]["totalTokenCount"] == 5
    assert frames[0]["modelVersion"] == "gemini-2.5-pro"
