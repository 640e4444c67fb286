"""The tools of MCP servers are offered, and each failure of a server is reported in a sentence."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.harness.free_port import free_port
from tests.harness.process_forks import MCP_SERVER, forked_python
from tests.harness.tools import ScriptedUser, ToolHarness
from tests.sample_size import sampled_cases
from tests.waiting import LAST_RESORT_SECONDS, eventually, settled, until

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.errors import Aborted, UserError
from palimpsest.transcript.parts import ResourceSource

DEMO = Path(__file__).parents[1] / "mcp_server.py"
OLDER = Path(__file__).parents[1] / "mcp_older_server.py"
ENVIRONMENT = {
    **os.environ,
    "OPENAI_API_KEY": "sk-0123456789abcdefghij",
    "DEMO_TOKEN": "s3cr3t-value-1",
}

pytestmark = pytest.mark.slow


def stdio(mode: str = "stdio", **more: Any) -> McpServerSpec:
    # Only a server that works imports the package, for which it takes a second.
    python, *begin = forked_python(*MCP_SERVER) if mode == "stdio" else [sys.executable]
    return McpServerSpec("demo", command=python, args=(*begin, str(DEMO), mode), **more)


def started() -> McpServerSpec:
    """Return the server in a process of its own."""
    return McpServerSpec("demo", command=sys.executable, args=(str(DEMO), "stdio"))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the start timeout of servers, for machines under load."""
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


@asynccontextmanager
async def servers(
    tmp_path: Path, *specs: McpServerSpec
) -> AsyncIterator[tuple[McpServers, ToolHarness, tuple[str, ...]]]:
    harness = ToolHarness(tmp_path, registry=Registry(), extra={"environment": ENVIRONMENT})
    harness.user = ScriptedUser()
    mcp = McpServers(specs, harness.registry, ENVIRONMENT, tmp_path)
    try:
        reports = await mcp.turn_began()
        yield mcp, harness, reports
    finally:
        await mcp.close()


@pytest.fixture
def address() -> Iterator[Callable[[], str]]:
    """A function that starts the server over HTTP; a second call restarts it at the same address."""
    port = free_port()
    running: list[subprocess.Popen[bytes]] = []

    def accepts() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def start() -> str:
        for process in running:
            process.kill()
            process.wait()
        # The one before may accept for a moment longer, and would be taken for the new one.
        eventually(lambda: not accepts())
        command = [*forked_python(*MCP_SERVER), str(DEMO), "http", str(port)]
        running.append(subprocess.Popen(command))

        def listens() -> bool:
            if running[-1].poll() is not None:
                # The address was not free again yet, so that the server ended at once.
                running.append(subprocess.Popen(command))
            return accepts()

        eventually(listens)
        return f"http://127.0.0.1:{port}/mcp"

    yield start
    for process in running:
        process.kill()
        process.wait()


async def test_offers_the_tools_of_a_program_under_its_name(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (mcp, harness, reports):
        outcome = await harness.call("demo_add", a=2, b=3)

        assert reports == ()
        assert outcome.output == "5"
        assert "demo_say_what_" in harness.registry.names
        assert [
            (question.permission, question.patterns, question.always)
            for question in harness.user.asked
        ] == [("demo_add", ("*",), ("*",))]
        assert mcp.status()[0].state == "connected"
        tool = harness.registry.resolve("demo_add")
        assert not isinstance(tool, str)
        assert harness.registry.spec(tool).parameters["required"] == ["a", "b"]


async def test_what_does_not_fit_the_schema_never_reaches_the_server(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        with pytest.raises(UserError, match="a: 'two' is not of type 'integer'"):
            await harness.call("demo_add", a="two", b=3)
        assert harness.user.asked == []


async def test_a_failed_tool_says_what_its_server_said(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        with pytest.raises(UserError, match="the disk is full"):
            await harness.call("demo_fail")


async def test_a_picture_is_attached(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        outcome = await harness.call("demo_picture")

        assert [attachment.mime for attachment in outcome.attachments] == ["image/png"]
        assert outcome.output == "(The files are attached.)"


async def test_a_huge_result_arrives_shortened(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        outcome = await harness.call("demo_huge", chars=12_000_000)

        assert len(outcome.output) < 5_000_100
        assert "[... 7,000,000 characters left out ...]" in outcome.output


async def test_a_server_that_dies_in_a_call_costs_a_sentence_and_is_back_next_turn(
    tmp_path: Path,
) -> None:
    async with servers(tmp_path, stdio()) as (mcp, harness, _said):
        with pytest.raises(UserError, match=r"'demo' ended\. It is started again"):
            await harness.call("demo_die")
        with pytest.raises(UserError, match=r"'demo' ended\. It is tried again"):
            await harness.call("demo_add", a=1, b=1)

        await mcp.turn_began()

        assert (await harness.call("demo_add", a=1, b=1)).output == "2"


@pytest.mark.soak  # with each commit one that dies in a call is back in the next turn, above; this adds a death between turns
async def test_a_server_that_died_between_turns_is_started_again(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (mcp, harness, _said):
        os.kill(int((await harness.call("demo_pid")).output), signal.SIGKILL)
        await until(lambda: mcp.status()[0].state == "failed")

        reports = await mcp.turn_began()

        assert reports == ()
        assert (await harness.call("demo_add", a=1, b=1)).output == "2"


@pytest.mark.soak  # with each commit a stop gives a call up, below; this adds the time that a call has
async def test_a_call_that_hangs_is_given_up_after_its_time(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio(timeout=4.0)) as (_, harness, _said):
        with pytest.raises(UserError, match="did not run hang within 4 seconds"):
            await harness.call("demo_hang")
        assert harness.shown[-1] == {"output": "halfway"}
        assert (await harness.call("demo_add", a=1, b=1)).output == "2"


async def test_a_stop_gives_a_call_up_at_once(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        calling = asyncio.ensure_future(harness.call("demo_hang"))
        await until(lambda: harness.shown)
        harness.abort.set("Stopped.")

        with pytest.raises(Aborted):
            await calling


@pytest.mark.soak  # with each commit tests/session/extensions/test_mcp_servers.py tells of a dead one; this adds silent ones and nonsense
@pytest.mark.parametrize(
    ("mode", "words"),
    sampled_cases(
        {
            "broken": ("broken", "no such table: servers"),
            "silent": ("silent", "was silent for 2 seconds"),
            "nonsense": ("nonsense", "was silent for 2 seconds"),
        },
        *("broken", "nonsense"),
    ),
)
async def test_a_server_that_cannot_be_spoken_to_is_told_of_once(
    tmp_path: Path, mode: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode != "broken":  # which answers, on a machine under load after more than two seconds
        monkeypatch.setattr(client, "MAX_CONNECT_SECONDS", 2.0)
    async with servers(tmp_path, stdio(mode)) as (mcp, harness, reports):
        again = await mcp.turn_began()

        assert len(reports) == 1
        assert words in reports[0]
        assert again == ()
        assert harness.registry.names == ()


async def test_a_slow_server_does_not_hold_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 0.05)
    async with servers(tmp_path, stdio()) as (mcp, harness, reports):
        assert reports == (
            "The MCP server 'demo' is not ready yet; its tools come with a later step or prompt.",
        )
        await until(lambda: mcp.status()[0].state == "connected")
        assert await mcp.turn_began() == ()
        assert "demo_add" in harness.registry.names


@pytest.mark.soak  # with each commit a slow server does not hold a turn, above; this adds one that failed
async def test_a_server_that_failed_is_not_waited_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_CONNECT_SECONDS", 2.0)
    async with servers(tmp_path, stdio("silent")) as (mcp, _bench, reports):
        assert len(reports) == 1
        # Another attempt would fail a second time.
        monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 600.0)
        await mcp.turn_began()

        assert mcp.status()[0].state == "connecting"


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    spec = McpServerSpec("demo", command="no-such-program")
    async with servers(tmp_path, spec) as (_found, _bench, reports):
        assert reports == (
            "The MCP server 'demo' cannot be started: there is no program 'no-such-program'.",
        )


async def test_a_server_is_given_no_key_but_those_that_are_configured(tmp_path: Path) -> None:
    spec = stdio(env={"GIVEN": "${DEMO_TOKEN}"})
    async with servers(tmp_path, spec) as (_, harness, _said):
        assert (await harness.call("demo_environment", name="OPENAI_API_KEY")).output == "(not set)"
        assert (await harness.call("demo_environment", name="DEMO_TOKEN")).output == "(not set)"
        # It has the value; the value is redacted in its output, as in every tool's.
        assert (await harness.call("demo_environment", name="GIVEN")).output == "[redacted]"


async def test_a_missing_variable_is_named(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio(env={"GIVEN": "${NOT_THERE}"})) as (_f, _b, reports):
        assert reports == (
            "The MCP server 'demo' cannot be started: the environment variable NOT_THERE is not set.",
        )


async def test_tools_that_come_later_are_offered_from_the_next_turn_on(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (mcp, harness, _said):
        await harness.call("demo_learn")
        await until(lambda: mcp._servers[0]._is_list_outdated)
        assert "demo_multiply" not in harness.registry.names

        await mcp.turn_began()

        assert (await harness.call("demo_multiply", a=3, b=4)).output == "12"


async def test_a_server_of_an_older_protocol_works_whatever_its_schemas_say(
    tmp_path: Path,
) -> None:
    spec = McpServerSpec("old", command=sys.executable, args=(str(OLDER),))
    async with servers(tmp_path, spec) as (mcp, harness, reports):
        assert reports == ()
        names = harness.registry.names
        specs = {
            name: harness.registry.spec(tool)
            for name in names
            if not isinstance(tool := harness.registry.resolve(name), str)
        }
        assert len(specs) == 4
        assert max(map(len, names)) == 64
        assert all(spec.parameters["type"] == "object" for spec in specs.values())
        assert (await harness.call("old_refers", a=1)).output == '{"a": 1}'
        await until(lambda: mcp._servers[0]._is_list_outdated)

        await mcp.turn_began()

        assert "old_learnt" in harness.registry.names


async def test_a_list_of_tools_that_breaks_the_protocol_costs_a_sentence(tmp_path: Path) -> None:
    spec = McpServerSpec("old", command=sys.executable, args=(str(OLDER), "wrong"))
    async with servers(tmp_path, spec) as (mcp, _bench, reports):
        assert len(reports) == 1
        assert reports[0].startswith(
            "The MCP server 'old' did not list its tools: 1 validation error"
        )
        assert mcp.status()[0].state == "failed"


async def test_resources_are_listed_and_read_with_the_permission_to_read(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio()) as (_, harness, _said):
        harness.user.rules = {"read": "ask"}
        listed = await harness.call("list_mcp_resources")
        templates = await harness.call("list_mcp_resource_templates", server="demo")
        text = await harness.call("read_mcp_resource", server="demo", uri="note://today")
        image = await harness.call("read_mcp_resource", server="demo", uri="note://pixel")
        sound = await harness.call("read_mcp_resource", server="demo", uri="note://sound")
        broken = [
            await harness.call("read_mcp_resource", server="demo", uri="note://broken")
            for _ in range(2)
        ]

        assert "- note://today (" in listed.output
        assert "day://{name}" in templates.output
        assert text.output == "buy milk"
        (attached,) = image.attachments
        assert attached.mime == "image/png"
        assert attached.source == ResourceSource(
            type="resource", client_name="demo", uri="note://pixel"
        )
        assert (
            sound.output == "[sound (audio/wav) was left out: no model can read this kind of file.]"
        )
        assert broken[0].attachments == ()
        assert broken[0].output == broken[1].output
        assert broken[0].output.startswith("[broken (image/png) was left out: ")
        assert "0x" not in broken[0].output
        assert [
            (question.permission, question.patterns) for question in harness.user.asked[:3]
        ] == [
            ("read", ("mcp:demo:*",)),
            ("read", ("mcp:demo:*",)),
            ("read", ("mcp:demo:note://today",)),
        ]


async def test_a_server_over_http_works_and_is_spoken_to_again_after_its_restart(
    tmp_path: Path, address: Callable[[], str]
) -> None:
    spec = McpServerSpec("demo", url=address())
    async with servers(tmp_path, spec) as (mcp, harness, reports):
        assert reports == ()
        assert (await harness.call("demo_add", a=2, b=3)).output == "5"
        assert len((await harness.call("demo_huge", chars=3_000_000)).output) == 3_000_000
        with pytest.raises(UserError, match="demo"):
            await harness.call("demo_die")
        address()

        assert len(await mcp.turn_began()) <= 1
        # On a busy machine the server listens before it answers, and one more turn finds it.
        heard: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_RESORT_SECONDS):
                while "demo_add" not in harness.registry.names:
                    heard += await mcp.turn_began()
        assert "demo_add" in harness.registry.names, (heard, mcp.status())
        assert (await harness.call("demo_add", a=2, b=3)).output == "5"


async def test_an_address_where_nobody_answers_costs_a_sentence(tmp_path: Path) -> None:
    spec = McpServerSpec("demo", url="http://127.0.0.1:9/mcp", headers={"X-Key": "${DEMO_TOKEN}"})
    async with servers(tmp_path, spec) as (_f, _b, reports):
        assert len(reports) == 1
        assert "s3cr3t" not in reports[0]


async def test_without_the_package_it_says_how_to_install_it(tmp_path: Path) -> None:
    mcp = McpServers([stdio()], Registry(), ENVIRONMENT, tmp_path, is_installed=lambda: False)

    reports = await mcp.turn_began()

    assert reports == (
        "MCP servers need the package mcp: pip install 'jupyter-palimpsest[mcp]', then restart the kernel.",
    )


async def test_a_server_that_may_not_be_started_is_not(tmp_path: Path) -> None:
    async with servers(tmp_path, stdio(refusal="It is not allowed.")) as (mcp, _b, reports):
        assert reports == ("It is not allowed.",)
        assert mcp.status()[0].state == "waiting"


async def test_nothing_is_left_running_at_the_end(tmp_path: Path) -> None:
    async with servers(tmp_path, started()) as (_, harness, _said):
        server = psutil.Process(int((await harness.call("demo_pid")).output))
        guard = server.parent()

    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    assert guard is None or not guard.is_running()


@pytest.mark.soak  # with each commit nothing is left running at the end, above; this adds an end in the middle of a handshake
@pytest.mark.parametrize("mode", sampled_cases(["silent", "stubborn"], "stubborn"))
async def test_closing_in_the_middle_of_a_handshake_leaves_no_process(
    tmp_path: Path, mode: str
) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    mcp = McpServers([stdio(mode)], Registry(), ENVIRONMENT, tmp_path)
    mcp.begin_connecting()
    below: list[psutil.Process] = []

    def begun() -> bool:
        children = psutil.Process().children(recursive=True)
        below[:] = [process for process in children if process.pid not in before]
        return len(below) == 2  # the watchdog and the server

    await until(begun)

    await mcp.close()

    assert [
        process for process in below if process.is_running() and process.status() != "zombie"
    ] == []
    assert mcp.status()[0].state != "connected"
    mcp.begin_connecting(reset_failures=True)
    assert mcp._servers[0].state != "connecting"


async def test_closing_while_the_package_is_imported_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports, go_on = threading.Event(), threading.Event()

    def load() -> None:
        imports.set()
        go_on.wait()

    monkeypatch.setattr(client, "import_package", load)
    begun: list[object] = []
    monkeypatch.setattr(client, "connect", lambda *given, **_: begun.append(given))
    mcp = McpServers([stdio()], Registry(), ENVIRONMENT, tmp_path)
    mcp.begin_connecting()
    await until(imports.is_set)
    closing = asyncio.create_task(mcp.close())
    await settled()
    go_on.set()
    await closing

    assert begun == []


def test_a_server_ends_with_a_kernel_that_is_killed(tmp_path: Path) -> None:
    words = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(mcp_servers.__file__).parents[3])!r})
from pathlib import Path
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec
from palimpsest.tools.registration.registry import Registry
async def main():
    spec = McpServerSpec("demo", command=sys.executable, args=({str(DEMO)!r}, "stubborn"))
    servers = McpServers([spec], Registry(), dict(__import__("os").environ), Path({str(tmp_path)!r}))
    servers.begin_connecting()
    await asyncio.Event().wait()
asyncio.run(main())
"""
    kernel = subprocess.Popen([sys.executable, "-c", words])
    below: list[psutil.Process] = []

    def begun() -> bool:
        below[:] = psutil.Process(kernel.pid).children(recursive=True)
        return len(below) == 2  # the watchdog and the server

    eventually(begun)

    kernel.kill()
    kernel.wait()

    _, alive = psutil.wait_procs(below, 5)
    assert alive == []
