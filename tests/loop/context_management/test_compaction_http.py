"""Compactions with a real HTTP server and its faults; received requests are rebuilt from the log."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import DEFAULT, SUMMARY, with_compact
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.harness.session import until
from tests.harness.time_limits import HeldTimeLimits
from tests.provider_rules.dialects import problems
from tests.sample_size import sampled_cases, thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import ModelAnswer, fails, says, stalls
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.testing import FaultServer
from palimpsest.testing import ReceivedRequest as Arrived
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.session_record.events import SessionCompacted

pytestmark = pytest.mark.slow

QUESTION = "And now? " + "word " * 2_500
TURNS = 10


class Small(HttpSessionHarness):
    """A session in a window of 8,000 tokens, with a server that distinguishes summary requests."""

    def narrow(self, policy: Policy = DEFAULT, window: int = 8_000) -> None:
        info = self.harness.info(self.id)
        self.harness.narrow(info.model_copy(update={"window": window, "output_limit": 1_000}))
        object.__setattr__(self.harness.services.rules, "policy", policy)
        if self.opened is not None:
            made = type(self.opened._configured_policy)(policy, {})
            self.opened._configured_policy = self.opened._prompt_resolver._configured_policy = made

    async def grow(self, turns: int = TURNS) -> None:
        """Add turns until one summary request cannot hold them."""
        self.narrow(window=60_000)
        for number in range(turns):
            self.server.script(says(f"The mean of column {number} is 43.92. " * 100).in_pieces(900))
            await self.ask(f"Question {number} " + "word " * 700)

    def asked(self) -> list[dict[str, Any]]:
        return [body for body in self.server.bodies if "You write summaries" in str(body)]


@pytest.fixture(params=sampled_cases(PROVIDERS, "openai"))
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Small]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer(check=problems) as server:
        yield Small(request.param, tmp_path, server)


def by_purpose(request: Arrived) -> ModelAnswer:
    """Answer summary requests with a summary, and others with a sentence."""
    summary = "You write summaries" in str(request.body)
    return says(SUMMARY if summary else "It is 43.92.")


@pytest.mark.parametrize("harness", thinned(PROVIDERS, 2), indirect=True)
async def test_every_part_arrives_as_it_is_rebuilt(harness: Small) -> None:
    await harness.grow()
    harness.narrow()
    harness.server.script(*[by_purpose] * 8)

    answer = await harness.ask("And now?")
    again = await harness.ask("Sure?")

    assert (answer.text, answer.error, again.text) == ("It is 43.92.", None, "It is 43.92.")
    assert len(harness.asked()) > 1
    assert all("tools" not in body for body in harness.asked())
    await harness.check_requests()


async def test_a_server_that_falls_silent_is_given_up_and_the_history_goes_on(
    harness: Small, limits: HeldTimeLimits
) -> None:
    await harness.grow(3)
    recovery = DEFAULT.recovery.model_copy(update={"compaction_seconds": 0.4})
    harness.narrow(DEFAULT.model_copy(update={"recovery": recovery}))
    harness.server.script(says("## Goal\n- know").stalls(), says("Still here."))
    asking = asyncio.create_task(harness.ask(QUESTION))
    session = await harness.session()
    await until(lambda: "- know" in str(session.snapshot().messages[-1].parts))

    limits.run_out(0.4)
    failed = await asking

    assert isinstance(failed.error, ApiError)
    assert "did not come within 0.4 seconds" in failed.error.message
    await until(lambda: harness.server.requests[-1].closed_after is not None)
    harness.narrow(window=60_000)
    answer = await harness.ask("Well?")
    assert answer.text == "Still here."
    after = str(harness.server.bodies[-1])
    assert all(f"Question {number} " in after for number in range(3))
    assert "What did we do so far?" not in after
    assert "## Goal" not in after
    await harness.check_requests()


async def test_waits_before_another_attempt_count_too(
    harness: Small, limits: HeldTimeLimits
) -> None:
    await harness.grow(3)
    recovery = DEFAULT.recovery.model_copy(update={"compaction_seconds": 0.4})
    harness.narrow(DEFAULT.model_copy(update={"recovery": recovery}))
    # Longer than any test: the limit ends this wait, or nothing does.
    harness.server.script(fails(503, retry_after=500))
    asking = asyncio.create_task(harness.ask(QUESTION))
    session = await harness.session()
    await until(lambda: session.snapshot().status.type == "retry")

    limits.run_out(0.4)
    failed = await asyncio.wait_for(asking, LAST_RESORT_SECONDS)

    assert isinstance(failed.error, ApiError)
    assert "did not come within" in failed.error.message
    assert session.snapshot().status.type == "idle"


@pytest.mark.soak  # with each commit tests/loop/context_management/test_compaction_parts.py has attempts that failed; this adds a server that breaks off
async def test_an_attempt_that_failed_leaves_nothing_in_the_summary(
    harness: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.01)
    await harness.grow(3)
    harness.narrow()
    broken = says("## Half\n" + "- of it\n" * 50).disconnects()
    harness.server.script(broken, *[by_purpose] * 6)

    answer = await harness.ask(QUESTION)

    assert answer.error is None
    assert "## Half" not in str(harness.server.bodies[-1])
    await harness.check_requests()


@pytest.mark.parametrize("part", sampled_cases([1, 2], 2))
async def test_a_stop_hangs_up_in_the_middle_of_a_part(harness: Small, part: int) -> None:
    await harness.grow()
    harness.narrow()
    good = [says(SUMMARY)] * (part - 1)
    harness.server.script(*good, says("## Goal\n- know").stalls())
    asking = asyncio.create_task(harness.ask("And now?"))
    session = await harness.session()
    await until(lambda: len(harness.asked()) == part)
    await until(lambda: "- know" in str(session.snapshot().messages[-1].parts[-1]))

    session.cancel()
    answer = await asking

    assert isinstance(answer.error, AbortedError)
    await until(lambda: harness.server.requests[-1].closed_after is not None)
    records = await harness.harness.records(session)
    assert not [record for record in records if isinstance(record.event, SessionCompacted)]
    await harness.check_requests()


@pytest.mark.soak  # with each commit a server that falls silent is given up, above; this adds a second try
async def test_a_second_try_after_a_silent_server_sends_the_same_again(
    harness: Small, limits: HeldTimeLimits
) -> None:
    await harness.grow(3)
    recovery = DEFAULT.recovery.model_copy(update={"compaction_seconds": 2.0})
    harness.narrow(DEFAULT.model_copy(update={"recovery": recovery}))
    harness.server.script(stalls(), *[by_purpose] * 5)
    asking = asyncio.create_task(harness.ask(QUESTION))
    session = await harness.session()
    await until(lambda: harness.asked())
    limits.run_out(2.0)
    assert (await asking).error is not None

    answer = await asyncio.wait_for(session.retry(), LAST_RESORT_SECONDS)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    first, second = harness.asked()[:2]
    assert first == second
    rebuilt = rebuild_all(harness.harness.store, session.id, await harness.harness.records(session))
    assert [rebuilt_request.matches for rebuilt_request in rebuilt] == [True] * len(
        harness.server.bodies
    )


@pytest.mark.parametrize("refused", thinned([False, True], 2))
async def test_a_model_of_its_own_is_asked_by_its_own_name(
    harness: Small, *, refused: bool
) -> None:
    await harness.grow(3)
    small = f"{harness.id.split('/')[0]}/small-test"
    harness.narrow(with_compact(model=small))
    harness.server.script(*[fails(404, "No such model.")] * refused, *[by_purpose] * 6)

    answer = await harness.ask(QUESTION)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    names = [body["model"] for body in harness.asked()]
    assert names[0] == "small-test"
    assert ("small-test" in names[1:]) != refused
    assert harness.server.bodies[-1]["model"] == harness.id.split("/")[1]
    await harness.check_requests()
