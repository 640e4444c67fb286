"""What is sent to a model by default, and every address the product connects to: as documented.

A real kernel, with an audit hook on every connection, against servers on loopback.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import ROOT, Kernel
from tests.harness.served_home import served_home

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "what-is-sent.md"
KEY = "sk-" + "ant-api03-abcDEF0123456789_-x"
MODEL = "openai/gpt-4o"
WATCH = """
import sys, traceback
SEEN = []
def watch(event, given):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        place = given[1] if event in ("socket.connect", "socket.sendto") else given[:2]
        SEEN.append((event, place if isinstance(place, tuple) else str(place)))
sys.addaudithook(watch)
"""


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def asked(request: Any) -> dict[str, Any]:
    found: dict[str, Any] = (
        json.loads(request.body) if isinstance(request.body, bytes | str) else request.body
    )
    return found


def person(home: Path, server: FaultServer, more: str = "") -> dict[str, str]:
    """Return the environment of a user with a model server of their own."""
    secrets = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp_" + "a1B2" * 9}
    return served_home(home, MODEL, server.openai_base, more, **secrets)


def test_hello_sends_no_value_and_says_once_what_goes_along(
    tmp_path: Path, server: FaultServer
) -> None:
    (tmp_path / "project").mkdir()
    server.script(says("Hi."), says("She wrote the first program."), says("Bye."))
    env = person(tmp_path / "home", server, "titles = false\n")
    with Kernel(cwd=tmp_path / "project", env=env) as kernel:
        kernel.run(
            f"patient_name = 'Ada Lovelace'\nrows = [1815]\napi_key = {KEY!r}\n%load_ext palimpsest"
        )

        first = kernel.run("%agent hello")
        second = kernel.run("%agent who is patient_name?")
        kernel.run(f"%agent use {KEY} and tell me about api_key")

    bodies = [json.dumps(asked(request)) for request in server.requests]
    assert "patient_name: str" in bodies[0]
    assert "rows: list, 1 item" in bodies[0]
    assert "Ada" not in bodies[0]
    assert "1815" not in bodies[0]
    assert "patient_name: str, 'Ada Lovelace'" in bodies[1]
    assert KEY not in "".join(bodies)
    assert "From this project to openai" in first.markdown()
    assert "names and types" in first.markdown()
    assert "From this project" not in second.markdown()
    assert "From this project" not in "".join(bodies)


def test_nothing_that_is_kept_or_saved_holds_a_key_that_the_model_repeats(
    tmp_path: Path, server: FaultServer
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    server.script(
        calls("python", code=f"key = {KEY!r}\nprint(key)\nkey"),
        says(f"The key is {KEY}, keep it."),
        says(f"All about {KEY}"),
    )
    with Kernel(cwd=project, env=person(tmp_path / "home", server)) as kernel:
        kernel.run("%load_ext palimpsest")
        run = kernel.run("%agent --yes what is the key?")
        kernel.run("%unload_ext palimpsest")
        outputs = json.dumps([output["data"] for output in run.outputs()])

    kept = [path for path in (project / ".palimpsest").rglob("*") if path.is_file()]
    assert kept
    assert [str(path) for path in kept if KEY.encode() in path.read_bytes()] == []
    assert KEY not in outputs
    assert "[redacted]" in outputs


def test_the_kernel_connects_to_nothing_that_the_page_does_not_list(
    tmp_path: Path, server: FaultServer
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    server.script(
        calls("glob", pattern="*"),
        says("A long answer. " * 40),
        says("A title"),
        says("## Goal\n\nA summary of what was said, long enough to be one. " * 10),
        says("After it."),
    )
    with Kernel(cwd=project, env=person(tmp_path / "home", server)) as kernel:
        kernel.run(WATCH)
        kernel.run("%load_ext palimpsest")
        kernel.run("import palimpsest")
        assert kernel.value("SEEN") == "[]", "loading asks nobody"
        load = (
            "from palimpsest.model.adapter.litellm_model import LOADER\nLOADER.wait_for_litellm(60)"
        )
        assert kernel.run(load).status == "ok"
        assert kernel.value("'litellm' in __import__('sys').modules") == "True"
        assert kernel.value("SEEN") == "[]", "litellm fetches nothing"
        kernel.run("%agent --yes hello")
        kernel.run("%agent compact")
        kernel.run("%agent and now?")
        kernel.run("%agent models")
        kernel.run("%agent status\n%agent config\n%agent sessions")
        seen = eval(kernel.value("SEEN"))

    asked_for = {
        (str(place[0]), int(place[1]))
        for event, place in seen
        if event == "socket.connect" and len(place) > 1
    }
    names = {str(place[0]) for event, place in seen if event != "socket.connect"}
    own = (server.url.split("//")[1].split(":")[0], int(server.url.rsplit(":", 1)[1].split("/")[0]))
    listed = addresses()
    assert own in asked_for
    assert asked_for - {own} <= listed, "the page lists it"
    assert names <= {own[0], *(host for host, _ in listed)}
    assert len(server.requests) >= 4


def addresses() -> set[tuple[str, int]]:
    """Return the fixed addresses in the documentation: all others come from a user's settings."""
    matches = re.findall(r"`([\w.]+):(\d+)`", PAGE.read_text(encoding="utf-8"))
    return {(host, int(port)) for host, port in matches}


CLIENTS = re.compile(
    r"\burlopen|\bbuild_opener|\bhttpx\.(?!_main\b)|\bcreate_connection|\bopen_connection|\.acompletion\("
)
HOMES = {
    "kernel_ext/palimpsest/model/catalog/local_servers.py": "Local models",
    "kernel_ext/palimpsest/session/config/remote_defaults.py": "Settings of an organisation",
    "kernel_ext/palimpsest/tools/web/http_fetch.py": "A web page",
    "kernel_ext/palimpsest/tools/web/webfetch.py": "A web page",
    "kernel_ext/palimpsest/tools/mcp/servers.py": "MCP servers",
    "kernel_ext/palimpsest/tools/mcp/client.py": "MCP servers",
    "kernel_ext/palimpsest/model/adapter/litellm_model.py": "A step",
    "kernel_ext/palimpsest/model/direct/http_clients.py": "A step",
}
"""Modules that may open connections, and the documentation row that describes each."""


def test_every_place_in_the_code_that_connects_has_a_row_on_the_page() -> None:
    rows = PAGE.read_text(encoding="utf-8")
    sources = [*(ROOT / "kernel_ext" / "palimpsest").rglob("*.py")]
    clients = {
        str(path.relative_to(ROOT))
        for path in sources
        if not path.name.startswith("fault_") and CLIENTS.search(path.read_text(encoding="utf-8"))
    }

    assert clients <= set(HOMES)
    for title in HOMES.values():
        assert f"| {title}" in rows


def test_the_page_in_the_front_end_asks_only_its_kernel_and_its_jupyter_server() -> None:
    sources = [
        *(ROOT / "labextension" / "src").rglob("*.ts"),
        *(ROOT / "labextension" / "src").rglob("*.tsx"),
    ]
    callers = [
        path.name
        for path in sources
        if ".test." not in path.name
        and "__tests__" not in str(path)
        and re.search(
            r"\bfetch\(|XMLHttpRequest|new WebSocket|sendBeacon|importScripts",
            path.read_text(encoding="utf-8"),
        )
    ]

    assert callers == []
