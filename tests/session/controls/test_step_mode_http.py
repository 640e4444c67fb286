"""Over HTTP, no request reaches a server while it is held; after the release one does, as it was proposed."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.harness.session import requested, until
from tests.provider_rules.dialects import problems
from tests.sample_size import sampled_cases
from tests.session.controls.test_step_mode import held

from palimpsest.model.script import fails, says
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.values import Reply

pytestmark = pytest.mark.slow
LONG = "The mean of bill_length_mm is 43.92. " * 200


@pytest.fixture(params=sampled_cases(PROVIDERS, "openai"))
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpSessionHarness]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer(check=problems) as server:
        yield HttpSessionHarness(request.param, tmp_path, server)


async def test_one_request_arrives_after_the_release_and_is_the_proposed_one(
    harness: HttpSessionHarness,
) -> None:
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    harness.server.script(says("Hello."), says("Again."))
    for number, words in enumerate(("One.", "Two."), start=1):
        answering = asyncio.ensure_future(harness.ask(words))
        proposal = await held(session)
        await session.journal.flush()
        assert len(harness.server.requests) == number - 1
        assert len(requested(await harness.harness.records(session))) == number - 1

        session.step_mode.release(proposal.id)
        answer = await answering

        assert answer.error is None
        assert len(harness.server.requests) == number
        sent = requested(await harness.harness.records(session))[-1].request
        assert sent.sha256 == proposal.sha256
    await harness.check_requests()


async def test_a_stop_while_it_is_held_sends_nothing_and_is_answered_at_once(
    harness: HttpSessionHarness,
) -> None:
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    harness.server.script(says("Never."))
    answering = asyncio.ensure_future(harness.ask("One."))
    await held(session)

    began = time.thread_time()
    session.cancel("Stopped.")
    answer = await answering

    assert time.thread_time() - began < 0.5
    assert isinstance(answer.error, AbortedError)
    assert harness.server.requests == []
    assert session.held == ()


async def test_the_spending_limit_holds_while_a_request_is_held(
    harness: HttpSessionHarness,
) -> None:
    session = await harness.session()
    harness.server.script(says("One."), says("Two."))
    await harness.ask("One.")
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(harness.ask("Two."))
    proposal = await held(session)
    session.control.set_budget(tokens=1)
    await until(lambda: session.held[0].limit_tokens == 1)

    session.step_mode.release(proposal.id)
    asked = (await until(lambda: session.snapshot().asks))[0]
    assert asked.permission == "budget"
    assert len(harness.server.requests) == 1
    session.control.set_budget()
    session.reply(asked.id, Reply(answer="once"))
    answer = await answering

    assert answer.error is None
    assert len(harness.server.requests) == 2


async def test_a_summary_arrives_only_after_its_release(harness: HttpSessionHarness) -> None:
    session = await harness.session()
    harness.server.script(*[says(LONG).in_pieces(4_000)] * 3, says(SUMMARY))
    for words in ("One.", "Two.", "Three."):
        await harness.ask(words)
    session.step_mode.switch(is_on=True)
    compacting = asyncio.ensure_future(session.compact())
    proposal = await held(session)
    assert proposal.purpose == "compaction"
    assert len(harness.server.requests) == 3

    session.step_mode.release(proposal.id)
    await compacting

    assert len(harness.server.requests) == 4
    sent = requested(await harness.harness.records(session))[-1].request
    assert sent.sha256 == proposal.sha256


async def test_a_request_that_was_let_go_is_tried_again_without_another_release(
    harness: HttpSessionHarness,
) -> None:
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    harness.server.script(fails(503, retry_after=0), says("Hello."))
    answering = asyncio.ensure_future(harness.ask("One."))
    proposal = await held(session)
    session.step_mode.release(proposal.id)
    answer = await answering

    assert answer.text == "Hello."
    first, second = harness.server.bodies
    assert first == second
    assert session.held == ()
