"""Over HTTP, each kind of held request is priced, changed, stopped and limited, and arrives as it was changed."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.http_session import PROVIDERS
from tests.harness.session import SessionHarness, requested, until
from tests.harness.subagent_session import make_subagent_harness
from tests.provider_rules.dialects import problems
from tests.sample_size import thinned
from tests.session.controls.test_step_mode import FREE
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.script import calls, says
from palimpsest.render.reports.held_request import headline
from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import FaultServer
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import AbortedError
from palimpsest.transcript.values import ModelInfo, ModelRef, Price, Reply

pytestmark = pytest.mark.slow

KINDS = ["turn", "summary", "subagent"]
LONG = "The mean of bill_length_mm is 43.92. " * 250
FIRST = f"The first answer. {LONG}"
FILE = "the words of the file\n" * 700
TASK = calls("task", description="Look", prompt="Look around.", agent="explore")
LIFETIMES = {"openai": (300, 600), "anthropic": (300, 300)}


@dataclass
class Held:
    """A session that holds a request of one kind, whose parts and numbers are about to be changed."""

    harness: SessionHarness
    server: FaultServer
    session: LiveSession
    answering: "asyncio.Task[Any]"
    proposal: ProposedRequest
    arrived: int
    """Requests that had arrived before."""

    @property
    def now(self) -> ProposedRequest:
        return next(held for held in self.session.held if held.id == self.proposal.id)

    async def finish(self) -> Any:
        """Let go whatever else is held, and return the answer."""
        while not self.answering.done():
            for held in self.session.held:
                self.session.step_mode.release(held.id)
            await until(
                lambda: (
                    self.answering.done()
                    or [held for held in self.session.held if held.id != self.proposal.id]
                )
            )
            await asyncio.sleep(0)
        return await self.answering


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    return str(request.param)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(check=problems) as server:
        yield server


async def holding(kind: str, provider: str, server: FaultServer, root: Path) -> Held:
    """Return a session that holds a request of a kind, after one that the provider has in its cache."""
    (root / "a.txt").write_text(FILE)
    name = "gpt-test" if provider == "openai" else "claude-test"
    info = ModelInfo(
        ref=ModelRef(provider=provider, name=name),
        window=100_000,
        output_limit=2_000,
        caching=True,
        price=Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
        api_base=server.openai_base if provider == "openai" else server.anthropic_base,
    )
    model = DirectModel(LitellmModel(), read_timeout_seconds=30.0)
    harness = make_subagent_harness(root, model, rules=FREE, info=info, few=False)
    session = await harness.session()
    options = PromptOptions(model=info.ref.id)
    read = calls("read", path="a.txt")
    ends = [says("Looked."), says("So.")]
    match kind:
        case "turn":
            server.script(says(FIRST).in_pieces(4_000), *ends)
            await session.prompt("Tell me.", options)
            work, number = session.prompt("And now?", options), 2
        case "summary":
            server.script(
                *(says(text).in_pieces(4_000) for text in (FIRST, LONG, LONG)), says(SUMMARY)
            )
            for words in ("One.", "Two.", "Three."):
                await session.prompt(words, options)
            work, number = session.compact(), 4
        case _:
            server.script(TASK, read, *ends)
            work, number = session.prompt("Hand it on.", options), 2
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(work)
    while True:
        await until(lambda: session.held)
        proposal = session.held[0]
        if proposal.number == number and proposal.subagent == (kind == "subagent"):
            return Held(harness, server, session, answering, proposal, len(server.requests))
        session.step_mode.release(proposal.id)
        await until(lambda before=proposal.id: session.held and session.held[0].id != before)


@pytest.mark.parametrize("kind", thinned(KINDS, 3))
async def test_it_says_what_the_cache_holds_and_counts_down(
    kind: str, provider: str, server: FaultServer, tmp_path: Path
) -> None:
    held_session = await holding(kind, provider, server, tmp_path)
    cache = held_session.proposal.cache

    if kind == "summary":
        # Another system prompt stands first, so nothing of the request before can be read.
        assert cache.tokens == 0
    elif kind == "turn":
        least, most = LIFETIMES[provider]
        sent = requested(await held_session.harness.records(held_session.session))[
            -1
        ].request.facts.now
        assert (cache.cools_at, cache.cold_at) == (sent + least * 1000, sent + most * 1000)
        assert 1_024 <= cache.tokens < held_session.proposal.tokens
        before = headline(held_session.proposal)
        held_session.harness.clock.now += 100_000
        held_session.session.control.set_budget(usd=5)
        assert "cools in 5:00" in before
        limit = 5

        def counts_down() -> bool:
            # One that was being made when the clock was put forward may be shown, and then no other comes by itself.
            nonlocal limit
            if "cools in 3:20" in headline(held_session.now):
                return True
            if held_session.now.limit_usd == limit:
                limit += 1
                held_session.session.control.set_budget(usd=limit)
            return False

        await until(counts_down)
    assert held_session.proposal.cost is not None
    assert held_session.proposal.cost_cold is not None
    assert (held_session.proposal.cost < held_session.proposal.cost_cold) == bool(cache.tokens)
    await held_session.finish()


@pytest.mark.parametrize("kind", thinned(KINDS, 4))
async def test_it_arrives_as_it_was_changed(
    kind: str, provider: str, server: FaultServer, tmp_path: Path
) -> None:
    held_session = await holding(kind, provider, server, tmp_path)
    own = held_session.session.step_mode.session_of(held_session.proposal.id)
    part = (
        # A request for a summary holds the conversation as one text.
        held_session.session.snapshot().messages[1].parts[1].id
        if kind == "summary"
        else next(
            item.part_id
            for item in held_session.proposal.items
            if item.part_id and item.kind in ("output", "assistant") and item.tokens > 1_000
        )
    )

    own.edit_context("pin", part)
    if kind != "summary":
        await until(lambda: any(item.pinned for item in held_session.now.items))
    own.edit_context("unpin", part)
    own.edit_context("exclude", part)
    await until(lambda: held_session.now.tokens < held_session.proposal.tokens - 1_000)
    assert part not in {item.part_id for item in held_session.now.items}
    if kind != "summary":
        await own.use_policy("prune.protect_tokens=1234")
        await until(lambda: held_session.now.numbers[0].value == 1_234)
    held_session.session.control.set_budget(usd=7)
    changed = await until(lambda: held_session.now if held_session.now.limit_usd == 7 else None)
    assert len(server.requests) == held_session.arrived
    assert held_session.session.step_mode.release(changed.id)
    await until(lambda: len(server.requests) > held_session.arrived)

    words = "the words of the file" if kind == "subagent" else "The first answer."
    assert words not in str(server.bodies[held_session.arrived])
    await held_session.finish()
    found = [
        event.request.sha256
        for summary in held_session.harness.store.list()
        for event in requested(tuple(held_session.harness.store.read(summary.id)))
    ]
    assert changed.sha256 in found


@pytest.mark.parametrize("kind", thinned(KINDS, 3))
async def test_a_stop_sends_nothing(
    kind: str, provider: str, server: FaultServer, tmp_path: Path
) -> None:
    held_session = await holding(kind, provider, server, tmp_path)

    began = time.thread_time()
    held_session.session.cancel("Stopped.")
    answer = await asyncio.wait_for(held_session.answering, LAST_RESORT_SECONDS)

    assert time.thread_time() - began < 0.5
    assert isinstance(answer.error, AbortedError)
    assert len(server.requests) == held_session.arrived
    assert held_session.session.held == ()


@pytest.mark.parametrize("kind", thinned(KINDS, 5, 1))
async def test_the_limit_holds_it_back_after_the_release(
    kind: str, provider: str, server: FaultServer, tmp_path: Path
) -> None:
    held_session = await holding(kind, provider, server, tmp_path)
    held_session.session.control.set_budget(tokens=1)
    await until(lambda: held_session.now.limit_tokens == 1)
    held_session.session.step_mode.release(held_session.proposal.id)

    asked = (await until(lambda: held_session.session.snapshot().asks))[0]

    assert asked.permission == "budget"
    assert len(server.requests) == held_session.arrived
    held_session.session.control.set_budget()
    held_session.session.reply(asked.id, Reply(answer="once"))
    assert (await held_session.finish()).error is None
    assert len(server.requests) > held_session.arrived
