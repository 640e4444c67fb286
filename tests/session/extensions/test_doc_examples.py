"""The examples of docs/hooks.md and docs/mcp.md work as documented."""

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import palimpsest
from palimpsest.app.loaded_config import load
from palimpsest.app.wiring import App
from palimpsest.model.script import calls, says
from palimpsest.session.extensions import hooks
from palimpsest.testing import ScriptedModel
from palimpsest.tools.mcp import servers
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.hook_values import HOOK_NAMES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(servers, "MAX_WAIT_SECONDS", 60.0)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def settings(home: Path, text: str) -> dict[str, str]:
    folder = home / ".config" / "palimpsest"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'titles = false\npermission = "allow"\n{text}')
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def outcomes(session: Any) -> list[Any]:
    parts = (part for message in session.messages for part in message.parts)
    return [part.state for part in parts if isinstance(part, ToolPart)]


@pytest.mark.slow
def test_the_hooks_of_the_page_refuse_mask_and_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "CELL_HOOKS", [])
    project = tmp_path / "project"
    project.mkdir()
    (project / "people.txt").write_text("Ada Lovelace")
    model = ScriptedModel(
        calls("bash", command="rm people.txt", description="x"),
        calls("read", path="people.txt"),
        calls("list", path="."),
        says("Done."),
        says("Yes."),
        says("Yes."),
    )
    app = App(start=project, environment=settings(tmp_path / "home", ""), model=lambda _: model)
    try:
        namespace: dict[str, Any] = {}
        for block in blocks("hooks.md", "python"):
            exec(block, namespace)
        session = palimpsest.open_session(app)
        for words in ("Clean up", "And?", "And now?"):
            session.prompt(words, model="scripted/x")

        refused, read, _ = outcomes(session)
        assert refused.error.endswith("files are deleted by hand in this project")
        assert "[a person]" in read.output
        assert (project / "people.txt").exists()
        assert "[an old listing]" in str(model.requests[-1].messages)
        named = ["careful", "mask", "shorter", "forget_listings"]
        assert [hook.label for hook in session.hooks] == named
        assert "Answer in one sentence." in str(model.requests[0].messages[:2])
        assert palimpsest.unhook(namespace["mask"])
        named.remove("mask")
        assert [hook.label for hook in session.hooks] == named
    finally:
        app.close()


def test_every_hook_stands_on_the_page() -> None:
    page = (DOCS / "hooks.md").read_text()

    assert [name for name in HOOK_NAMES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("page", ["hooks.md", "mcp.md"])
def test_the_settings_of_the_pages_are_right(tmp_path: Path, page: str) -> None:
    for number, block in enumerate(blocks(page, "toml")):
        tomllib.loads(block)
        home = tmp_path / str(number)
        loaded = load(home, settings(home, block))

        assert loaded.problems == ()
        assert loaded.value.mcp or loaded.value.hooks


@pytest.mark.soak  # with each commit tests/session/extensions/test_mcp_servers.py uses one; this adds the one of the page
@pytest.mark.slow
def test_the_server_of_the_page_is_used(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes_server.py").write_text(blocks("mcp.md", "python")[0])
    named = blocks("mcp.md", "toml")[-1].replace('"python"', f'"{sys.executable}"')
    model = ScriptedModel(calls("notes_search", words="whales"), says("Nothing."))
    app = App(start=project, environment=settings(tmp_path / "home", named), model=lambda _: model)
    try:
        session = palimpsest.open_session(app)
        session.prompt("Look for whales", model="scripted/x")

        assert [(server.state, server.problem) for server in session.servers] == [("connected", "")]
        (state,) = outcomes(session)
        assert state.output == "nothing about whales"
        assert "Search before you write." in str(model.requests[0].messages[0])
    finally:
        app.close()
