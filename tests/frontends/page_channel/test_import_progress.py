"""A page is told how far an import is, goes on with other commands meanwhile, and may stop it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.page_channel.test_project import outcome
from tests.harness.kernel import Kernel

pytestmark = pytest.mark.slow
MESSAGES = 20_000


def large_recording(path: Path) -> None:
    """Write a chat of so many messages that reading it takes seconds."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[number % 2], "content": f"{number} " + "a word of it " * 100}
        for number in range(MESSAGES)
    ]
    path.write_text(json.dumps({"messages": messages, "model": "some/model"}))


@pytest.mark.soak  # with each commit tests/recordings/import_journal tells it and stops it; this adds the page's commands
def test_it_is_told_and_stopped_while_other_commands_are_answered(tmp_path: Path) -> None:
    large_recording(tmp_path / "large.json")
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest")
        kernel.client.run("%agent sessions")  # waits until all is loaded
        kernel.request(type="watch", client="page")

        kernel.request(type="import", id="large", path="large.json")
        first = progress(kernel)
        notice = progress(kernel, known=True)
        listed = outcome(kernel, type="sessions", id="list")
        stopped = outcome(kernel, type="stop-import", id="stop", import_id="large")
        ended = ended_import(kernel)
        late = outcome(kernel, type="stop-import", id="again", import_id="large")

    assert (first["bytes"], first["total"]) == (0, 0)
    assert 0 < notice["bytes"] <= notice["total"] == (tmp_path / "large.json").stat().st_size
    assert "sessions" in listed
    assert (stopped["late"], late["late"]) == (False, True)
    (problem,) = ended["unreadable"]
    assert problem["what"].startswith("The import was stopped")
    assert all(row["messages"] < MESSAGES for row in ended["imported"])


def progress(kernel: Kernel, *, known: bool = False) -> dict[str, Any]:
    message = kernel.wait(
        lambda m: (
            m["content"].get("kind") == "import-progress"
            and (not known or m["content"]["total"] > 0)
        )
    )
    content: dict[str, Any] = message["content"]
    return content


def ended_import(kernel: Kernel) -> dict[str, Any]:
    message = kernel.wait(
        lambda m: m["content"].get("kind") == "outcome" and m["content"].get("id") == "large"
    )
    content: dict[str, Any] = message["content"]
    answer: dict[str, Any] = content.get("answer", content)
    return answer
