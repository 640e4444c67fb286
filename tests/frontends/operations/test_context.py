"""``%agent context`` in a real kernel: what the cell stores, and that it changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel, Run
from tests.render.reports.test_context_window import alive

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdef0123"
HOSTILE = "<img src=x onerror=alert(1)> שלום `|` $\\href{javascript:alert(1)}{x}$"
SETUP = f"""
%load_ext palimpsest
import palimpsest
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.model.script import calls, says
register_scenario("reads", [
    calls("read", path="big.txt"), says("Read, with {KEY}."), says("And again."),
])
"""
ASK = f"%agent --model rehearsal/reads {HOSTILE}"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    (tmp_path / "big.txt").write_text("one two three\n" * 1_000)
    (tmp_path / "AGENTS.md").write_text("Answer in metres.")
    (tmp_path / "palimpsest.toml").write_text("[tool_output]\nmax_bytes = 5000\n")
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


def shown(run: Run) -> dict[str, Any]:
    assert run.status == "ok"
    [output] = run.outputs()
    data: dict[str, Any] = output["data"]
    return data


def test_begins_no_session_where_none_is(kernel: Kernel) -> None:
    data = shown(kernel.client.run("%agent context"))

    assert data == {
        "text/markdown": "This notebook has no session yet. Ask with %agent, then look again.",
        "text/plain": "This notebook has no session yet. Ask with %agent, then look again.",
    }
    assert not list((kernel.folder / ".palimpsest").glob("sessions/*"))


def test_shows_the_window_in_every_form(kernel: Kernel) -> None:
    kernel.client.run(ASK)

    data = shown(kernel.client.run("%agent context"))

    assert set(data) == {"text/html", "text/markdown", "text/plain"}
    for form in data.values():
        for words in ("Context window of", "Instructions", "AGENTS.md", "Tool outputs", "big.txt"):
            assert words in form
        assert KEY not in form
    assert "truncated" in data["text/plain"]
    assert "turn 1, step 1" in data["text/plain"]
    assert alive(data["text/html"]) == []
    assert "\\href" not in data["text/html"]


@pytest.mark.soak  # with each commit tests/review/request_contents/test_shown_request.py shows them; this adds the command, and that no key is in it
def test_one_request_is_shown_with_its_contents(kernel: Kernel) -> None:
    kernel.client.run(ASK)

    data = shown(kernel.client.run("%agent context at 2"))

    assert set(data) == {"text/html", "text/markdown", "text/plain"}
    for form in data.values():
        assert "Request 2 of 2 under recorded" in form
        assert "As it was sent" in form
        assert "truncated" in form
        assert KEY not in form
    assert "<img src=x" not in data["text/html"]
    assert alive(data["text/html"]) == []


@pytest.mark.soak  # with each commit tests/review/request_contents/test_request_difference.py compares them; this adds the command
def test_what_changed_between_two_requests_is_told(kernel: Kernel) -> None:
    kernel.client.run(ASK)

    since = shown(kernel.client.run("%agent context changed since 1"))["text/plain"]
    both = shown(kernel.client.run("%agent context changed 1 2"))["text/plain"]

    assert since == both
    assert "From request 1 to request 2" in both
    assert "Estimate: Request 2 begins with all of request 1" in both
    assert "big.txt" in both


@pytest.mark.soak  # with each commit tests/review/test_session_review.py says why; this adds the command and its completion
def test_it_is_told_why_an_item_is_not_in_a_request(kernel: Kernel) -> None:
    kernel.client.run(ASK)
    items = "palimpsest.current_session().review.items.records()"
    number = kernel.client.value(f"[one['item'] for one in {items} if one['kind'] == 'output'][0]")

    early = shown(kernel.client.run(f"%agent context why not {number} at 1"))["text/plain"]
    late = shown(kernel.client.run(f"%agent context why {number}"))["text/plain"]
    names = [match for match in kernel.client.complete("%agent context why ") if match[0] != "%"]

    assert "is not in request 1: it came later, before request 2" in early
    assert "is cut short in request 2" in late
    assert names


@pytest.mark.soak  # with each commit tests/frontends/magic/test_line_parser.py reads these lines; this adds their completion
def test_what_can_follow_context_is_completed(kernel: Kernel) -> None:
    kernel.client.run(ASK)

    assert kernel.client.complete("%agent context ") == ["at", "changed", "why"]
    assert kernel.client.complete("%agent context at ") == ["1", "2"]
    assert kernel.client.complete("%agent context changed 1 ") == ["1", "2"]


@pytest.mark.soak  # with each commit tests/review/request_contents/test_shown_request.py refuses one; this adds the commands
def test_a_request_that_does_not_exist_is_one_sentence(kernel: Kernel) -> None:
    kernel.client.run(ASK)

    for line in ("%agent context at 9", "%agent context changed 1 9", "%agent context why 1 9"):
        run = kernel.client.run(line)
        content = run.reply["content"]
        assert content["ename"] == "UsageError"
        assert "requests" in content["evalue"]
    unknown = kernel.client.run("%agent context why 999 2").reply["content"]["evalue"]
    assert unknown == (
        "The session has no item '999'; `%agent context at 2` lists those of a request with their numbers."
    )
