"""A hostile server costs a sentence and bounded work, and takes no name and no approval of another."""

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.harness.tools import ScriptedUser, ToolHarness
from tests.sample_size import thinned

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.transcript.errors import PermissionDenied, UserError

SERVER = Path(__file__).parents[1] / "mcp_changing_server.py"
SCHEMA = {"type": "object"}

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


def tools(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": SCHEMA, **more} for name in names]


@asynccontextmanager
async def serving(
    tmp_path: Path, listed: list[dict[str, Any]], *, call_seconds: float = 60.0, **more: Any
) -> AsyncIterator[tuple[McpServers, ToolHarness, tuple[str, ...]]]:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": listed, **more}))
    harness = ToolHarness(tmp_path, registry=Registry(builtin_tools()))
    harness.user = ScriptedUser()
    spec = McpServerSpec(
        "x", command=sys.executable, args=(str(SERVER), str(file)), timeout=call_seconds
    )
    servers = McpServers([spec], harness.registry, {}, tmp_path)
    try:
        yield servers, harness, await servers.turn_began()
    finally:
        await servers.close()


async def test_names_that_would_be_one_call_each_the_tool_that_is_meant(tmp_path: Path) -> None:
    async with serving(tmp_path, tools("a.dd", "a dd", "Read", "read")) as (mcp, harness, reports):
        assert reports == ()
        called = set()
        for name in mcp.status()[0].tools:
            outcome = await harness.call(name)
            called.add(json.loads(outcome.output)[0]["name"])

    assert called == {"a.dd", "a dd", "Read", "read"}
    approvals = {question.bound_to for question in harness.user.asked}
    assert len(approvals) == 4
    assert {question.permission for question in harness.user.asked} == {
        "x_a_dd",
        "x_Read",
        "x_read",
    }


async def test_a_deny_of_a_name_holds_for_the_tools_that_would_share_it(tmp_path: Path) -> None:
    async with serving(tmp_path, tools("a.dd", "a dd")) as (mcp, harness, _said):
        harness.user.rules = {"x_a_dd": "deny"}
        for name in mcp.status()[0].tools:
            with pytest.raises(PermissionDenied, match="denies"):
                await harness.call(name)


async def test_a_tool_of_the_user_keeps_its_name_in_any_case(tmp_path: Path) -> None:
    async with serving(tmp_path, tools("add")) as (mcp, harness, _said):

        def mine() -> str:
            """Be mine."""
            return "mine"

        harness.registry.remove("x_add")
        own = harness.registry.add(mine, name="X_Add")
        said = [*await mcp.turn_began(), *mcp._update_offered_tools()]

        assert any("there is another tool 'X_Add'" in words for words in said)
        await mcp.close()
        assert harness.registry.resolve("X_Add") is own


PATTERN = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}


async def test_a_pattern_of_a_server_does_not_hold_the_kernel(tmp_path: Path) -> None:
    listed = [{"name": "t", "inputSchema": PATTERN, "outputSchema": PATTERN}]
    structured = {"a": "a" * 40 + "!"}
    async with serving(tmp_path, listed, structured=structured) as (_found, harness, _said):
        began = time.process_time()

        with pytest.raises(UserError, match="does not match"):
            await harness.call("x_t", a="a" * 40 + "!")
        await harness.call("x_t", a="aaa")

        assert time.process_time() - began < 5


async def test_an_output_schema_never_fetches_what_it_refers_to(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "integer"}')
    listed = [{"name": "t", "inputSchema": SCHEMA, "outputSchema": {"type": "object", "$ref": secret.as_uri()}}]  # fmt: skip
    async with serving(tmp_path, listed, structured={"a": 1}) as (_found, harness, _said):
        assert json.loads((await harness.call("x_t")).output)[0]["name"] == "t"


async def test_a_schema_that_is_too_large_costs_a_sentence_and_one_tool(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(70):
        deep = {"not": deep}
    listed = [
        {"name": "deep", "inputSchema": {"type": "object", "properties": {"x": deep}}},
        {"name": "long", "inputSchema": {"type": "object", "description": "x" * 1_000_000}},
        {"name": "wide", "inputSchema": {"type": "object", "properties": {"x": {"enum": ["y"] * 100_000}}}},
        *tools("fine", description="d" * 2_000_000, icons=[{"src": "data:," + "x" * 1_000_000}]),
    ]  # fmt: skip
    async with serving(tmp_path, listed) as (mcp, harness, reports):
        assert mcp.status()[0].tools == ("x_fine",)
        assert [sentence.split(" is left out, because its schema ")[0] for sentence in reports] == [
            f"The tool {name!r} of the MCP server 'x'" for name in ("deep", "long", "wide")
        ]
        spec = harness.registry.spec(harness.registry.resolve("x_fine"))  # type: ignore[arg-type]
        assert len(spec.description) <= 8_000


async def test_a_list_without_an_end_is_cut(tmp_path: Path) -> None:
    async with serving(tmp_path, tools("a", "b"), cursor=True) as (mcp, _harness, reports):
        assert mcp.status()[0].tools == ("x_a", "x_b")
        assert any("two tools of this name" in words for words in reports)
        assert len(reports) <= 7


@pytest.mark.parametrize("behaviour", thinned(["garbage", "storm", "strange", "asks"], 3))
async def test_what_nobody_asked_for_changes_nothing(tmp_path: Path, behaviour: str) -> None:
    async with serving(tmp_path, tools(behaviour, "after")) as (mcp, harness, _said):
        began = time.process_time()
        first = await harness.call(f"x_{behaviour}")
        after = await harness.call("x_after")
        await mcp.step_began()

        assert time.process_time() - began < 20
        assert json.loads(first.output)[0]["name"] == behaviour
        answers = json.loads(after.output)[1]
        assert all("error" in answer for answer in answers)  # of sampling, roots and elicitation
        assert len(answers) == (3 if behaviour == "asks" else 0)
        assert mcp.status()[0].state == "connected"


@pytest.mark.soak  # with each commit tests/tools/mcp/test_servers.py has one that dies in a call; this adds one that ends itself, and one that hangs
@pytest.mark.parametrize(
    ("behaviour", "words"), [("exits", "ended"), ("hangs", "did not run hangs within 2 seconds")]
)
async def test_a_server_that_goes_away_in_a_call_costs_a_sentence(
    tmp_path: Path, behaviour: str, words: str
) -> None:
    async with serving(tmp_path, tools(behaviour), call_seconds=2.0) as (_found, harness, _said):
        with pytest.raises(UserError, match=words):
            await harness.call(f"x_{behaviour}")


async def test_a_server_that_reports_a_change_and_lists_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, tools("a")) as (mcp, harness, _said):
        monkeypatch.setattr(client, "MAX_LIST_SECONDS", 0.5)
        (tmp_path / "tools.json").write_text(json.dumps({"tools": [], "hangs": True}))
        mcp._servers[0]._on_list_changed()

        reports = await mcp.step_began()

        assert reports == ("The MCP server 'x' did not list its tools within 0.5 seconds.",)
        assert "x_a" not in harness.registry.names
