"""No other tool can take the name or the permission of a built-in one."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness.tools import ToolHarness

from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.remote_tools import resource_tools, server_of
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.tool_listing import tool_name
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.builtin_tools import (
    DEFAULT_RULES,
    RESERVED_NAMES,
    is_reserved_name,
)
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.workflow.skill import SkillTool
from palimpsest.tools.workflow.task import TaskTool
from palimpsest.transcript.errors import UserError

DEMO = Path(__file__).parents[1] / "mcp_older_server.py"


def spec(server: str, *tools: str) -> McpServerSpec:
    return McpServerSpec(server, command=sys.executable, args=(str(DEMO), "named", *tools))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


def test_all_names_of_our_own_are_known() -> None:
    own = [*builtin_tools(), *resource_tools(list), TaskTool(lambda: ()), SkillTool(dict)]  # type: ignore[arg-type, list-item]
    names = {tool.name for tool in own} | {tool.permission for tool in own}
    names |= {rule.permission for rule in DEFAULT_RULES} - {"*"}

    assert names <= RESERVED_NAMES


@pytest.mark.parametrize(
    "name",
    ["bash", "BASH", "Read", "read_", "_write", "external-directory", "\uff42ash", "doom_loop"],
)
def test_what_reads_like_one_is_one(name: str) -> None:
    assert is_reserved_name(name)


@pytest.mark.parametrize("name", ["bashful", "demo_bash", "read_csv", "b_sh"])
def test_other_names_are_free(name: str) -> None:
    assert not is_reserved_name(name)


@pytest.mark.parametrize("name", ["bash", "read", "Write", "external_directory", "task"])
def test_a_function_does_not_take_a_name_of_our_own(harness: ToolHarness, name: str) -> None:
    def function() -> str:
        """Take a place."""
        return "not yours"

    before = harness.registry.resolve(name)

    with pytest.raises(UserError, match="Give the function another one"):
        harness.registry.add(function, name=name)
    assert harness.registry.resolve(name) == before or isinstance(before, str)


@pytest.mark.slow
async def test_a_server_does_not_take_a_name_of_our_own(harness: ToolHarness) -> None:
    """The joined names of a server and its tool could equal a built-in name."""
    specs = (
        spec("read", "mcp_resource", "mcp-resource", "\u043ccp_resource"),
        spec("list", "mcp_resources", "MCP_RESOURCES"),
        spec("external", "directory"),
        spec("private", "network"),
        spec("doom", "loop"),
        spec("bash", "bash", "", "b\u0430sh", "_"),
    )
    harness.registry = Registry(builtin_tools())
    before = {name: harness.registry.resolve(name) for name in harness.registry.names}
    servers = McpServers(specs, harness.registry, {}, harness.root)
    try:
        reports = await servers.turn_began()
        again = await servers.turn_began()
    finally:
        await servers.close()

    own: dict[str, Any] = {name: harness.registry.resolve(name) for name in harness.registry.names}
    assert {name: own[name] for name in before} == before
    assert type(own["read_mcp_resource"]).__name__ == "ReadResource"
    assert type(own["list_mcp_resources"]).__name__ == "ListResources"
    others = {name: tool for name, tool in own.items() if type(tool).__name__ == "McpTool"}
    assert not {tool.permission for tool in others.values()} & RESERVED_NAMES
    assert {"external_directory", "private_network", "doom_loop"}.isdisjoint(others)
    assert sum("of its own" in words for words in reports) >= 6
    assert again == ()
    for name in others:
        assert name.startswith(("bash_", "read_"))


@pytest.mark.slow
async def test_a_name_belongs_to_one_server_whoever_is_connected(harness: ToolHarness) -> None:
    """``a`` + ``b_c`` and ``a_b`` + ``c`` give one name; it always belongs to the same server."""
    one, other = spec("notes", "read_all", "add"), spec("notes_read", "all")

    for specs in (
        (one, other),
        (other, one),
        (one, McpServerSpec("notes_read", command="/nothing/here")),
    ):
        harness.registry = Registry(builtin_tools())
        servers = McpServers(specs, harness.registry, {}, harness.root)
        try:
            reports = await servers.turn_began()
        finally:
            await servers.close()

        there = harness.registry.resolve("notes_read_all")
        assert isinstance(there, str) or there.server.name == "notes_read"  # type: ignore[attr-defined]
        assert any(
            "'notes_read_all' is a name of the server 'notes_read'" in words for words in reports
        )


def test_the_longest_name_owns() -> None:
    assert server_of(tool_name("a", "b_c"), ["a", "a_b"]) == "a_b"
    assert server_of(tool_name("a", "x"), ["a", "a_b"]) == "a"
    assert server_of(tool_name("my.notes", "x"), ["my_notes", "my.notes"]) == "my_notes"
    assert server_of("other_x", ["a"]) is None
