"""MCP servers take part in a session: tools, instructions, and a sentence about each failure."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness.process_forks import MCP_SERVER, forked_python
from tests.harness.session import SessionHarness, ask, requested, until
from tests.session.extensions.test_hooks import all_rebuilt, notices, tools
from tests.waiting import LAST_RESORT_SECONDS

import palimpsest
from palimpsest.app.loaded_config import load
from palimpsest.app.wiring import App
from palimpsest.context.engine_text.system_prompt import SERVERS, prompt_sections
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.frontends.operations.extensions import server_lines
from palimpsest.model.script import calls, says
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.context_report.report_builder import build_context_report
from palimpsest.review.tables.cache_breaks import cache_breaks
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.testing import ScriptedModel
from palimpsest.tools.mcp import client
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import ToolCompleted, ToolFailed

CHANGING = Path(__file__).parents[2] / "tools" / "mcp_changing_server.py"
DEMO = Path(__file__).parents[2] / "tools" / "mcp_server.py"
ALLOWED = from_config("allow", home="/home/ada")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


def demo(mode: str = "stdio", **more: Any) -> McpServerSpec:
    python, *begin = forked_python(*MCP_SERVER)
    return McpServerSpec("demo", command=python, args=(*begin, str(DEMO), mode), **more)


def make_harness(
    tmp_path: Path, model: ScriptedModel, *specs: McpServerSpec
) -> tuple[SessionHarness, McpServers]:
    harness = SessionHarness(tmp_path, model, rules=ALLOWED)
    servers = McpServers(specs, harness.services.agents.registry, dict(os.environ), tmp_path)
    object.__setattr__(harness.services.agents, "servers", servers)
    return harness, servers


async def test_a_server_adds_its_tools_and_its_words_to_the_first_request(tmp_path: Path) -> None:
    model = ScriptedModel(calls("demo_add", a=2, b=3), says("Five."), says("Yes."))
    harness, servers = make_harness(tmp_path, model, demo())
    session = await harness.session()

    answer = await ask(session, "How much is 2 and 3?")
    await ask(session, "Sure?")
    await servers.close()

    assert answer.text == "Five."
    (part,) = tools(session)
    assert isinstance(part.state, ToolCompleted)
    assert part.state.output == "5"
    assert "demo_add" in [tool.name for tool in model.requests[0].tools]
    system = "".join(
        block["text"] if isinstance(block, dict) else block
        for block in model.requests[0].messages[0]["content"]
    )
    assert f'{SERVERS}\n<mcp_instructions>\n<server name="demo">\nAdds numbers. ' in system
    assert system.count("</server>") == 1
    assert model.requests[0].messages[0] == model.requests[2].messages[0]
    assert await all_rebuilt(harness, session, model)


def test_what_servers_say_is_a_section_of_its_own() -> None:
    env = "You are powered by the model x.\n<env>\n</env>"
    sections = prompt_sections(f"{env}\n\n{SERVERS}\n<mcp_instructions>\n</mcp_instructions>")

    assert [(mention.kind, mention.name) for mention in sections][1:] == [
        ("instructions", "MCP servers")
    ]


async def test_a_dead_server_costs_a_sentence_and_never_a_turn(tmp_path: Path) -> None:
    model = ScriptedModel(calls("demo_die"), says("It died."), says("Fine."))
    harness, servers = make_harness(
        tmp_path, model, demo(), McpServerSpec("gone", command="no-such-program")
    )
    session = await harness.session()

    answer = await ask(session, "Die")
    again = await ask(session, "Go on")
    await servers.close()

    assert (answer.text, answer.error) == ("It died.", None)
    assert again.error is None
    assert notices(session) == [
        "The MCP server 'gone' cannot be started: there is no program 'no-such-program'."
    ]
    (part,) = tools(session)
    assert isinstance(part.state, ToolFailed)
    assert "ended" in part.state.error
    assert "demo_add" in [tool.name for tool in model.requests[2].tools]
    assert await all_rebuilt(harness, session, model)


async def test_a_tool_that_a_call_brought_is_offered_and_works_in_the_same_turn(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(
        calls("demo_learn"), calls("demo_multiply", a=3, b=4), says("Twelve."), says("Still.")
    )
    harness, servers = make_harness(tmp_path, model, demo())
    session = await harness.session()

    answer = await ask(session, "Learn to multiply, then multiply.")
    await ask(session, "And now?")
    await servers.close()

    assert (answer.text, answer.error) == ("Twelve.", None)
    offered = [
        "demo_multiply" in [tool.name for tool in request.tools] for request in model.requests
    ]
    assert offered == [False, True, True, True]
    learnt, multiplied = (part.state for part in tools(session))
    assert isinstance(learnt, ToolCompleted)
    assert isinstance(multiplied, ToolCompleted)
    assert multiplied.output == "12"
    assert await all_rebuilt(harness, session, model)


async def test_words_of_a_server_that_comes_late_stand_beside_the_next_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 0.05)
    model = ScriptedModel(says("One."), says("Two."), says("Three."))
    harness, servers = make_harness(tmp_path, model, demo())
    session = await harness.session()

    await ask(session, "One")
    await until(lambda: servers.status()[0].state == "connected")
    await ask(session, "Two")
    await ask(session, "Three")
    await servers.close()

    assert notices(session) == [
        "The MCP server 'demo' is not ready yet; its tools come with a later step or prompt."
    ]
    assert "Adds numbers" not in str(model.requests[0].messages)
    assert model.requests[0].messages[0] == model.requests[2].messages[0]
    assert str(model.requests[2].messages).count("Adds numbers") == 1
    assert await all_rebuilt(harness, session, model)


class SlowServer:
    """A server that answers when its gate is opened, and what opens it in the middle of a turn."""

    def __init__(self, tmp_path: Path) -> None:
        self.gate = tmp_path / "gate"
        os.mkfifo(self.gate)
        listed = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
        (tmp_path / "tools.json").write_text(json.dumps(listed))
        args = (str(CHANGING), str(tmp_path / "tools.json"), str(self.gate))
        self.spec = McpServerSpec("late", command=sys.executable, args=args)
        self.servers: McpServers | None = None

    @property
    def state(self) -> str:
        assert self.servers is not None
        return self.servers.status()[0].state

    async def open_gate(self) -> str:
        """Let the server answer, and wait until it is connected."""
        await asyncio.to_thread(self.gate.write_text, "now")
        await until(lambda: self.state == "connected")
        return "open"

    async def wait_until_failed(self, attempt: int) -> str:
        """Wait until the server was given up."""
        await until(lambda: self.state == "failed")
        return f"{attempt} failed"


async def test_a_slow_server_is_offered_from_the_step_on_in_which_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 0.05)
    slow = SlowServer(tmp_path)
    model = ScriptedModel(calls("open_gate"), calls("late_add"), says("Done."), says("Again."))
    harness, slow.servers = make_harness(tmp_path, model, slow.spec)
    harness.services.agents.registry.add(slow.open_gate)
    session = await harness.session()

    answer = await ask(session, "Add")
    await ask(session, "Again")
    await slow.servers.close()

    assert (answer.text, answer.error) == ("Done.", None)
    offered = ["late_add" in [tool.name for tool in request.tools] for request in model.requests]
    assert offered == [False, True, True, True]
    assert notices(session) == [
        "The MCP server 'late' is not ready yet; its tools come with a later step or prompt.",
        "The MCP server 'late' is ready now: its tool is offered from this step on.",
    ]
    assert await all_rebuilt(harness, session, model)


async def test_tools_that_come_later_are_the_cause_of_a_lost_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 0.05)
    slow = SlowServer(tmp_path)
    model = ScriptedModel(
        calls("open_gate").reports(input=1_000, cache_write=9_000, output=10),
        calls("late_add").reports(input=11_000, output=10),
        says("Done.").reports(cache_read=11_000, input=500, output=10),
    )
    harness, slow.servers = make_harness(tmp_path, model, slow.spec)
    harness.services.agents.registry.add(slow.open_gate)
    session = await harness.session()

    await ask(session, "Add")
    await slow.servers.close()

    timeline = timeline_of(harness.store, session.id)
    (cache_break,) = cache_breaks(timeline, PriceProfile(input=3, read=0.3, write=3.75, output=15))
    assert (cache_break.request, cache_break.cause, cache_break.words) == (
        1,
        "tools",
        "the tool definitions changed",
    )


async def test_what_a_model_is_shown_of_a_tool_otherwise_is_said_in_a_word(tmp_path: Path) -> None:
    listed = [
        {"name": "odd", "inputSchema": {"type": "object", "properties": {"x": {"type": "array"}}}},
        {"name": "long", "description": "d" * 9_000, "inputSchema": {"type": "object"}},
        {"name": "plain", "description": "d" * 7_999, "inputSchema": {"type": "object"}},
    ]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": listed}))
    spec = McpServerSpec(
        "demo", command=sys.executable, args=(str(CHANGING), str(tmp_path / "tools.json"))
    )
    model = ScriptedModel(says("Done."))
    harness, servers = make_harness(tmp_path, model, spec)
    session = await harness.session()
    await ask(session, "Go")

    report = build_context_report(session.basis(), lambda only: session.records_after(0, only))
    lines = server_lines(servers.status(), harness.services.agents.registry)
    await servers.close()

    assert {item.name: item.remark for item in report.items if item.remark} == {
        "demo_odd": "schema repaired",
        "demo_long": "description cut",
    }
    assert "(demo_long: description cut; demo_odd: schema repaired)" in report.text
    repaired, cut = lines[1:]
    assert "repaired for the model" in str(repaired)
    assert str(repaired).count("demo_") == 1
    assert str(cut) == (
        "The description of 'demo_long' of the MCP server 'demo' has 9,000 characters: the model is shown the "
        "first 8,000."
    )


@pytest.mark.soak  # with each commit a dead server costs a sentence and never a turn, beside it; this adds one that is silent, and how often it is tried
async def test_a_server_that_was_silent_is_tried_again_in_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(client, "MAX_CONNECT_SECONDS", 1.0)
    slow = SlowServer(tmp_path)
    failing = [calls("wait_until_failed", attempt=attempt) for attempt in range(5)]
    model = ScriptedModel(*failing, says("Done."), says("Again."))
    harness, slow.servers = make_harness(tmp_path, model, slow.spec)
    harness.services.agents.registry.add(slow.wait_until_failed)
    session = await harness.session()

    answer = await ask(session, "Wait")
    failures = slow.servers._servers[0].failures
    await ask(session, "Again")
    await slow.servers.close()

    assert (answer.text, answer.error) == ("Done.", None)
    # Four attempts, and then it is left alone and the user told so.
    assert (failures, slow.servers._servers[0].failures) == (4, 4)
    silent = "The MCP server 'late' was silent for 1 seconds."
    assert notices(session) == [
        "The MCP server 'late' is not ready yet; its tools come with a later step or prompt.",
        silent,
        f"{silent} It failed 4 times in a row and is not tried again by itself: %agent mcp connect does that.",
    ]


def write(home: Path, text: str) -> dict[str, str]:
    folder = home / ".config" / "palimpsest"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)
    return {"HOME": str(home), "PATH": os.environ["PATH"], "DEMO_WORD": "hello"}


def test_an_app_runs_what_its_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hooks_of_a_test.py").write_text("def market(event):\n    return 'Market day.'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    python, *begin = forked_python(*MCP_SERVER)
    environment = write(
        tmp_path / "home",
        f"""
titles = false
[hooks]
prompt = "hooks_of_a_test:market"
[permission]
"*" = "allow"
[mcp.demo]
command = "{python}"
args = {json.dumps([*begin, str(DEMO), "stdio"])}
env = {{ WORD = "${{DEMO_WORD}}", PLAIN = "a value" }}
[mcp.off]
url = "https://example.org/mcp"
enabled = false
""",
    )
    project = tmp_path / "project"
    project.mkdir()
    model = ScriptedModel(calls("demo_environment", name="WORD"), says("Hello."))
    app = App(start=project, environment=environment, model=lambda _: model)
    try:
        session = palimpsest.open_session(app)
        answer = session.prompt("Say the word", model="scripted/x")

        assert answer.error is None
        assert "hello" in str(model.requests[1].messages[-1])
        assert "Market day." in str(model.requests[0].messages)
        assert [(server.name, server.state) for server in session.servers] == [
            ("demo", "connected"),
            ("off", "off"),
        ]
        assert [(hook.name, hook.label, hook.calls) for hook in session.hooks] == [
            ("prompt", "market", 1)
        ]
        shown = {key: value for key, value, _ in app.config.rows()}
        assert shown["mcp.demo.env"] == "WORD: ${DEMO_WORD}, PLAIN: …"
        assert shown["hooks"] == "prompt: hooks_of_a_test:market"
    finally:
        app.close()


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    environment = write(
        tmp_path,
        """
hooks = { tool_befor = "a:b" }
[mcp.demo]
command_ = "x"
timeout = 0
""",
    )
    problems = " ".join(load(tmp_path, environment).problems)

    assert "hooks" in problems
    assert "did you mean 'command'?" in problems
    assert "mcp.demo.timeout" in problems


def test_a_project_that_nobody_trusted_starts_nothing(tmp_path: Path) -> None:
    environment = write(tmp_path / "home", "titles = false\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "palimpsest.toml").write_text(
        f'hooks = ["os:getcwd"]\n[mcp.demo]\ncommand = "{sys.executable}"\n'
    )
    config = load(project, environment)

    assert config.value.mcp == {}
    assert config.value.hooks == ()
    assert {setting.key for setting in config.untrusted_settings} == {"hooks", "mcp"}


async def test_the_first_prompt_may_name_a_tool_of_a_server(tmp_path: Path) -> None:
    model = ScriptedModel(calls("demo_add", a=2, b=3), says("Five."))
    harness, servers = make_harness(tmp_path, model, demo())
    session = await harness.session()

    answer = await session.prompt("Add.", PromptOptions(tools=("demo_add",)))
    await servers.close()

    assert answer.text == "Five."
    assert [tool.name for tool in model.requests[0].tools] == ["demo_add"]


async def test_a_tool_of_a_dead_server_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    harness, servers = make_harness(
        tmp_path, ScriptedModel(), McpServerSpec("gone", command="/no/such")
    )
    session = await harness.session()

    with pytest.raises(UserError, match=r"There is no tool 'gone_add'\. Tools: .*\. .*'gone'.*"):
        await session.prompt("Add.", PromptOptions(tools=("gone_add",)))
    await servers.close()

    assert session.snapshot().messages == ()


async def test_no_server_means_no_work(tmp_path: Path) -> None:
    servers = McpServers((), Registry(), {}, tmp_path)

    assert await asyncio.wait_for(servers.turn_began(), LAST_RESORT_SECONDS) == ()
    assert not servers
    assert requested([]) == []


async def test_tools_that_fill_the_window_are_named_as_what_to_make_less(tmp_path: Path) -> None:
    harness, _ = make_harness(tmp_path, ScriptedModel())
    for number in range(200):

        def tool(text: str) -> str:
            return text

        tool.__name__, tool.__doc__ = f"tool_{number}", "It says very much. " * 300
        harness.services.agents.registry.register(FunctionTool(tool))
    session = await harness.session()

    answer = await ask(session, "Hello?")

    assert answer.error is not None
    assert "The descriptions of its tools alone take about" in answer.error.message
    assert "switch MCP servers off in the settings" in answer.error.message
