"""Hooks and MCP servers of a project that wait for trust are told of where they are listed."""

from pathlib import Path

import pytest
from tests.frontends.operations.said import said

from palimpsest.app.wiring import App

pytestmark = pytest.mark.slow


def test_what_waits_for_trust_is_told_of(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "palimpsest.toml").write_text(
        'hooks = { prompt = "a.b:c" }\n[mcp.team]\ncommand = "x"\n'
    )
    app = App(start=tmp_path, environment={})
    try:
        servers = app.engine.submit(said("mcp", services=app)).result().plain_text
        hooks = app.engine.submit(said("hooks", services=app)).result().plain_text
    finally:
        app.close()

    assert "has MCP servers that wait for your trust" in str(servers)
    assert "has hooks that wait for your trust" in str(hooks)
