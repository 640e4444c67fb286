"""The keys in the settings of MCP servers stand in no log, export, share page or message."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.harness.process_forks import MCP_SERVER, forked_python
from tests.harness.session import SessionHarness, ask
from tests.session.extensions.test_hooks import notices, tools
from tests.session.test_secrets_in_the_log import holding, make_harness

from palimpsest.model.script import calls, says
from palimpsest.session.interfaces.sharing_operations import FORMS
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.sharing.exports import _export_pieces
from palimpsest.session.sharing.share_page import page_html
from palimpsest.testing import ScriptedModel
from palimpsest.tools.mcp import servers as mcp_servers
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import McpServerSpec, register_secrets, untrusted_line
from palimpsest.transcript.parts import ToolCompleted
from palimpsest.transcript.redaction.held_secrets import looks_random
from palimpsest.transcript.redaction.secret_patterns import REDACTED
from palimpsest.transcript.redaction.secret_removal import scrubber

DEMO = Path(__file__).parents[2] / "tools" / "mcp_server.py"
KEY = "lovelace" + "-1815-analytical"
RANDOM = "Zq3x" + "8Lw0Pv5Yt2Rk"
ARGUMENT = "note" + "G-1842-menabrea"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_WAIT_SECONDS", 60.0)


def with_server(
    tmp_path: Path, spec: McpServerSpec, *script: Any, environment: Mapping[str, str] | None = None
) -> tuple[SessionHarness, McpServers]:
    made = make_harness(tmp_path, ScriptedModel(*script))
    servers = McpServers(
        [spec], made.services.agents.registry, environment or dict(os.environ), tmp_path
    )
    object.__setattr__(made.services.agents, "servers", servers)
    return made, servers


def everything_shown(made: SessionHarness, session: LiveSession) -> str:
    """Return all that leaves the session: its exports in every form, and its share page."""
    environment = made.services.environment
    exports = [
        piece
        for form in FORMS
        for piece in _export_pieces(made.store, session.id, form, environment, "markdown", "quiet")
    ]
    return "".join([*exports, *page_html(made.store, session.id, environment)])


@pytest.mark.soak  # with each commit a tool that returns it shows it nowhere, beside it; this adds what a server prints when it ends
@pytest.mark.slow
async def test_a_server_that_prints_its_key_at_its_end_shows_it_nowhere(tmp_path: Path) -> None:
    spec = McpServerSpec(
        "leaky",
        command=sys.executable,
        args=(str(DEMO), "leaky", "--api-key", ARGUMENT),
        env={"WIDGET_KEY": "${WIDGET_OF_THE_CELL}", "WIDGET_ID": RANDOM, "WIDGET_STAGE": "production"},
    )  # fmt: skip
    environment = {**os.environ, "WIDGET_OF_THE_CELL": KEY}
    made, servers = with_server(tmp_path, spec, says("Done."), environment=environment)
    session = await made.session()

    await ask(session, "Go.")
    await servers.close()

    [notice] = notices(session)
    assert "cannot log in" in notice
    assert "production" in notice
    shown = notice + everything_shown(made, session)
    for secret in (KEY, RANDOM, ARGUMENT):
        assert secret not in shown
    assert holding(tmp_path, KEY, RANDOM, ARGUMENT) == []


@pytest.mark.slow
async def test_a_tool_that_returns_the_key_shows_it_nowhere(tmp_path: Path) -> None:
    python, *begin = forked_python(*MCP_SERVER)
    spec = McpServerSpec(
        "demo", command=python, args=(*begin, str(DEMO), "stdio"), env={"WIDGET_TOKEN": KEY}
    )
    script = (calls("demo_environment", name="WIDGET_TOKEN"), says(f"It is {KEY}."))
    made, servers = with_server(tmp_path, spec, *script)
    session = await made.session()

    answer = await ask(session, f"Is it {KEY}?")
    await servers.close()

    (part,) = tools(session)
    assert isinstance(part.state, ToolCompleted)
    assert part.state.output == REDACTED
    assert answer.text == f"It is {REDACTED}."
    assert KEY not in everything_shown(made, session)
    assert holding(tmp_path, KEY) == []


def test_a_key_of_former_settings_is_still_hidden() -> None:
    first, second = "former" + "-key-4711-x", "latter" + "-key-4712-x"
    register_secrets(McpServerSpec("a", env={"API_KEY": first}), {})
    register_secrets(McpServerSpec("a", headers={"Authorization": f"Bearer {second}"}), {})

    assert scrubber({})(f"{first} and {second}") == f"{REDACTED} and {REDACTED}"


def test_ordinary_values_of_settings_stay() -> None:
    words = ("production", "1", "true", "eu-west-1", "info", "8080", "read-only", "python-3.11.4-slim", "/srv/data")  # fmt: skip
    spec = McpServerSpec("a", env={f"SETTING_{n}": word for n, word in enumerate(words)})
    register_secrets(spec, {})
    register_secrets(
        McpServerSpec("a", env={"API_KEY": "true", "TOKEN": "none", "PASSWORD": "x"}), {}
    )
    text = f"{' '.join(words)} true none x"

    assert scrubber({})(text) == text


def test_what_may_not_be_used_hides_nothing() -> None:
    register_secrets(
        McpServerSpec("a", env={"API_KEY": "rm-rf-everything"}, refusal="not trusted"), {}
    )

    assert scrubber({})("rm-rf-everything") == "rm-rf-everything"


def test_a_key_is_removed_before_a_sentence_is_cut() -> None:
    register_secrets(McpServerSpec("a", env={"API_KEY": KEY}), {})

    assert KEY[:12] not in untrusted_line("x" * 190 + KEY)


@pytest.mark.parametrize(
    ("value", "is_key"),
    [
        (RANDOM, True),
        ("9f8a7b6c5d4e3f2a1b0c", True),
        ("aB3-dE5_gH7.jK9=", True),
        ("python-3.11.4-slim-bookworm", False),
        ("2026-11-28T10:00:00Z", False),
        ("eu-central-1a", False),
        ("https://x.example/12ab34cd56", False),
        ("12345678901234567890", False),
        ("some words 1a2b3c4d5e6f", False),
    ],
)
def test_a_key_is_known_by_its_letters(value: str, *, is_key: bool) -> None:
    assert looks_random(value) is is_key
