"""In a real kernel, what a provider ran itself is one row and no request of its own, and every export tells it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.harness.served_home import served_home

from palimpsest.testing import FaultServer, calls, says

pytestmark = pytest.mark.slow

MODEL = "anthropic/claude-sonnet-4-5"
FOUND = {
    "type": "web_search_result",
    "url": "https://example.org/penguins",
    "title": "Penguins",
    "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUtODgxNC1kNjNjNTk1ZWI3Y/+==",
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, server: FaultServer) -> Iterator[Kernel]:
    home, project = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("project")
    settings = 'titles = false\n[permission]\n"*" = "ask"\ntask = "allow"\n'
    key = "sk-ant-not-a-key"
    env = served_home(home, MODEL, server.anthropic_base, settings, ANTHROPIC_API_KEY=key)
    with Kernel(cwd=project, env=env) as kernel:
        kernel.run("%load_ext palimpsest")
        yield kernel


def test_a_search_is_one_row_one_request_and_in_every_export(
    kernel: Kernel, server: FaultServer
) -> None:
    server.requests.clear()
    server.script(
        says("I search.").runs("web_search", [FOUND], query="kinds of penguins").says("Three."),
        says("Yes."),
    )

    shown = str(kernel.run("%%agent --new\nHow many kinds?"))
    kernel.run("%%agent\nSure?")

    assert len(server.requests) == 2
    assert "ran at the provider" in shown
    assert "There is no tool" not in shown
    sent = server.bodies[1]["messages"][1]["content"]
    assert [block["type"] for block in sent] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    assert sent[2]["content"] == [FOUND]
    root = Path(kernel.client.value("__import__('os').getcwd()").strip("'"))
    for form in ("md", "html", "ipynb", "json", "atif"):
        kernel.run(f"%agent export {form} out.{form}")
        text = (root / f"out.{form}").read_text()
        assert "kinds of penguins" in text, form
        assert "example.org/penguins" in text, form
        if form in ("md", "html"):
            assert "ran at the provider" in text


def test_a_subagents_search_is_its_own_and_asks_nobody(kernel: Kernel, server: FaultServer) -> None:
    server.requests.clear()
    server.script(
        calls("task", description="look", prompt="Look it up.", agent="explore"),
        says("I search.").runs("web_search", [FOUND], query="penguins").says("Three kinds."),
        says("It says three."),
    )

    shown = str(kernel.run("%%agent --new\nHow many kinds?"))

    assert len(server.requests) == 3, shown
    assert "Three kinds." in json.dumps(server.bodies[2])
