"""The checklist of the seed documents over real HTTP: a long session in a small window stays valid.

Seed 002 demands five things: 100 turns are all answered, no orphaned result, one consistent state after a
compaction that timed out (``test_compaction_wait.py``), a window that is too small is refused before the
run, and overflow is met by compaction, then truncation, then an error.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.provider_rules.dialects import problems
from tests.sample_size import sample_size, sampled_cases

from palimpsest.model.script import ModelAnswer, calls, overflows, says
from palimpsest.testing import FaultServer, ReceivedRequest
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    SessionCompacted,
    StepRequested,
)

TURNS = sample_size(15, 100)
WINDOW = 18_000
SUMMARY = (
    "## Goal\n- read {number} logs\n\n## Numbers and facts\n- no error so far\n" + "- none\n" * 40
)


@pytest.fixture(params=PROVIDERS)
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, FaultServer]]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer(check=problems) as running:
        yield request.param, running


def blocks(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return ``(role, "call" | "result" | "text", id)`` of a body in either format, in order."""
    by_kind = []
    for message in body["messages"]:
        content = message.get("content") or []
        if message["role"] == "tool":
            by_kind.append(("tool", "result", message["tool_call_id"]))
            continue
        for block in [{"type": "text"}] if isinstance(content, str) else content:
            kind = {"tool_use": "call", "tool_result": "result"}.get(block["type"], "text")
            by_kind.append(
                (message["role"], kind, block.get("id") or block.get("tool_use_id") or "")
            )
        by_kind += [("assistant", "call", call["id"]) for call in message.get("tool_calls") or []]
    return by_kind


def orphans(body: dict[str, Any]) -> list[str]:
    """Return calls without exactly one result right after them, and results without a call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for _, kind, name in blocks(body):
        if kind == "call":
            waiting.append(name)
        elif kind == "result" and name in waiting:
            waiting.remove(name)
        elif kind == "result":
            wrong.append(name)
        elif waiting:
            wrong += waiting
            waiting = []
    return wrong + waiting


def worker(request: ReceivedRequest) -> ModelAnswer:
    """Call read for a prompt, answer after its result, and summarise when the request has no tools."""
    if not request.body.get("tools"):
        return says(SUMMARY.format(number=len(blocks(request.body)))).in_pieces(300)
    last = blocks(request.body)[-1]
    if last[1] == "result":
        return says("It was read, and all is well. " * 20).in_pieces(300)
    number = str(request.body["messages"]).count("Turn ")
    return calls("read", path=f"log{number % 10}.txt")


@pytest.mark.soak  # with each commit a window that overflows is met in the test beside it; this adds many turns
@pytest.mark.slow
@pytest.mark.parametrize("server", sampled_cases(PROVIDERS, "anthropic"), indirect=True)
async def test_many_turns_in_a_small_window_are_all_answered(
    server: tuple[str, FaultServer], tmp_path: Path
) -> None:
    for number in range(10):
        lines = [f"{number} {line} all is well with this line" for line in range(120)]
        (tmp_path / f"log{number}.txt").write_text("\n".join(lines) + "\n")
    provider, running = server
    harness = HttpSessionHarness(provider, tmp_path, running, window=WINDOW)
    running.script(*[worker] * (TURNS * 3))

    for turn in range(TURNS):
        answer = await harness.ask(f"Turn {turn}: is the next log well?")
        assert answer.error is None
        assert answer.text.startswith("It was read")

    assert [orphans(body) for body in running.bodies] == [[]] * len(running.bodies)
    session = await harness.session()
    events = [record.event for record in await harness.harness.records(session)]
    summaries = [event for event in events if isinstance(event, SessionCompacted)]
    pruned = [e for e in events if isinstance(e, DecisionMade) and e.facts is not None]
    asked = [event.request for event in events if isinstance(event, StepRequested)]
    assert len(summaries) + len(pruned) >= TURNS / 10
    assert len(asked) == len(running.bodies)
    assert all(request.tokens * request.facts.calibration < WINDOW for request in asked)
    # The log still has each of the prompts, unchanged.
    said = [
        part.text
        for message in harness.harness.store.load(session.id).messages()
        if isinstance(message.info, UserMessage)
        for part in message.parts
        if isinstance(part, TextPart) and part.text.startswith("Turn ")
    ]
    assert said == [f"Turn {turn}: is the next log well?" for turn in range(TURNS)]
    await harness.check_requests()


async def test_a_window_too_small_is_refused_before_the_run(
    server: tuple[str, FaultServer], tmp_path: Path
) -> None:
    provider, running = server
    harness = HttpSessionHarness(provider, tmp_path, running, window=8_000)

    answer = await harness.ask("Hi")

    assert answer.error is not None
    assert "an agent needs 16,000" in answer.error.message
    assert running.bodies == []


async def test_overflow_is_met_by_a_summary_then_by_shorter_results_then_by_a_sentence(
    server: tuple[str, FaultServer], tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text("all is well with this line of a log\n" * 1_500)
    provider, running = server
    harness = HttpSessionHarness(provider, tmp_path, running, window=40_000)
    refused = overflows("anthropic" if provider == "anthropic" else "openai")
    running.script(
        calls("read", path="log.txt").calls("read", path="log.txt", offset=700),
        refused,
        says("Too short."),
        refused,
        says("Too short."),
    )

    answer = await harness.ask("Is the log well?")

    assert answer.error is not None
    assert "begin a new session with %agent --new" in answer.error.message
    session = await harness.session()
    told = []
    for record in await harness.harness.records(session):
        match record.event:
            case StepRequested(request=request):
                told.append(request.purpose)
            case DecisionMade(decision=decision) if decision.rule == "recover/oversized":
                told.append("truncate")
            case _:
                pass
    assert [line for at, line in enumerate(told) if told[:at][-1:] != [line]] == [
        "step",
        "compaction",
        "truncate",
        "step",
        "compaction",
    ]
    failed = [
        message.info.error
        for message in session.snapshot().messages
        if isinstance(message.info, AssistantMessage) and message.info.error is not None
    ]
    assert len(failed) == 4, "every attempt is to be seen"
    await harness.check_requests()
