"""Hooks and MCP servers in a real kernel: listed, used, and reported when they fail."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.operations.said import said
from tests.harness.kernel import Kernel

from palimpsest.app.wiring import App

pytestmark = pytest.mark.slow

DEMO = Path(__file__).parents[2] / "tools" / "mcp_server.py"

SETUP = """
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import calls, says

register_scenario("adds", [calls("demo_add", a=2, b=3), says("It is five.")])

@palimpsest.hook("tool_before")
def swap(event):
    return {"a": 20, "b": 30} if event.tool == "demo_add" else None

@palimpsest.hook("prompt")
def broken(event):
    raise ValueError("the calendar is gone")
"""


def settings(home: Path) -> dict[str, str]:
    folder = home / ".config" / "palimpsest"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'titles = false\npermission = "allow"\n[mcp.demo]\ncommand = "{sys.executable}"\n'
        f'args = ["{DEMO}", "stdio"]\n[mcp.gone]\ncommand = "no-such-program"\n'
    )
    return {"HOME": str(home), "PALIMPSEST_REHEARSAL_DELAY": "0"}


def outcome(kernel: Kernel, command: str) -> dict[str, Any]:
    message = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"]["id"] == command, 30
    )
    content: dict[str, Any] = message["content"]
    answer: dict[str, Any] = content.get("answer", content)
    return answer


@pytest.mark.soak  # with each commit tests/session/extensions uses them, and tests/tools/mcp lists them
def test_they_are_listed_used_and_told_of(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, env=settings(tmp_path / "home")) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        before = kernel.client.run("%agent mcp").markdown()
        assert "waiting (stdio)" in before
        tried = kernel.client.run("%agent mcp connect").markdown()
        assert "connected (stdio)" in tried
        assert "there is no program 'no-such-program'" in tried

        asked = kernel.client.run("%agent --model rehearsal/adds 2 and 3")

        story = asked.markdown()
        assert asked.status == "ok"
        assert "It is five." in story
        assert "50" in story
        assert "hook/swap changed what it was given" in story
        assert "the calendar is gone" in story
        hooks = kernel.client.run("%agent hooks").markdown()
        assert "swap" in hooks
        assert "failed: ValueError: the calendar is gone" in hooks
        assert "a cell" in hooks

        kernel.request(type="watch", client="page")
        kernel.request(type="extensions", id="what")
        told = outcome(kernel, "what")
        assert [(hook["name"], hook["failures"]) for hook in told["hooks"]] == [
            ("tool_before", 0),
            ("prompt", 1),
        ]
        assert [(server["name"], server["state"]) for server in told["servers"]] == [
            ("demo", "connected"),
            ("gone", "failed"),
        ]
        kernel.request(type="unwatch", client="page")


def test_what_waits_for_trust_is_told_of(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "palimpsest.toml").write_text(
        'hooks = { prompt = "a.b:c" }\n[mcp.team]\ncommand = "x"\n'
    )
    app = App(start=tmp_path, environment={})
    try:
        servers = app.engine.submit(said("mcp", services=app)).result().plain
        hooks = app.engine.submit(said("hooks", services=app)).result().plain
    finally:
        app.close()

    assert "has MCP servers that wait for your trust" in str(servers)
    assert "has hooks that wait for your trust" in str(hooks)
