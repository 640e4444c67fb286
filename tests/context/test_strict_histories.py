"""Whatever a history holds, four strict providers take it after the projection, and not before.

Random histories, flat ones and whole sessions, go the whole road: default policy, our writer,
litellm's translation. A seed names each of them, so a failure can be looked at alone.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from tests.context.damaged_histories import flat_history
from tests.context.random_sessions import session
from tests.context.request_paths import Body, RequestPath
from tests.sample_size import sample_size, seeds

from palimpsest.model.adapter.litellm_model import wait

ROADS = (
    RequestPath("openai", "gpt-4o"),
    RequestPath("openai", "gpt-5.1", variant="low"),
    RequestPath("openai", "gpt-4o", vision=False),
    RequestPath("anthropic", "claude-sonnet-4-5"),
    RequestPath("anthropic", "claude-sonnet-4-5", variant="low"),
    RequestPath("anthropic", "claude-sonnet-5", variant="low"),
    RequestPath("gemini", "gemini-2.5-pro"),
    RequestPath("gemini", "gemini-3-pro-preview"),
    RequestPath("mistral", "mistral-large-latest"),
)
SEEDS = seeds(40, 10_000)
EACH_SESSION = sample_size(1, 4)
"""Every fourth seed of the long run makes a session, too: they hold more."""
EACH_LIMITED = 4
"""A history limit of one to three turns cuts all but every fourth history."""
OVER_HTTP = 8
REFUSED_SHARE = 0.5
"""At least so many histories are refused as they are."""


@pytest.fixture(scope="module")
def learned() -> Iterator[None]:
    """See how each model's requests look around the messages."""
    with pytest.MonkeyPatch.context() as patch:
        for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
            patch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
        wait(60)
        for road in ROADS:
            asyncio.run(road.learn())
        yield


@dataclass
class Tally:
    """What became of many histories on one road."""

    count: int = 0
    refused_before: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)
    """After the projection: it must stay empty."""

    def add(self, road: RequestPath, name: str, after: list[Body], before: list[Body]) -> None:
        self.count += 1
        self.refused_before += bool(road.problems(before))
        problems = road.problems(after)
        if problems:
            self.refused[name] = problems

    @property
    def share(self) -> float:
        return self.refused_before / self.count


def walk(road: RequestPath, seeds: Sequence[int]) -> tuple[Tally, Tally]:
    """Walk with flat histories, and with sessions."""
    flat, sessions = Tally(), Tally()
    for seed in seeds:
        history = flat_history(seed)
        mended = road.mended(history, seed % EACH_LIMITED or None)
        flat.add(road, f"flat {seed}", mended, road.unmended(history))
        if seed % EACH_SESSION == 0:
            view = session(seed)
            sessions.add(road, f"session {seed}", road.projected(view), road.unprojected(view))
    return flat, sessions


@pytest.mark.slow
@pytest.mark.timeout(sample_size(60, 3_600))
@pytest.mark.parametrize("road", ROADS, ids=repr)
@pytest.mark.usefixtures("learned")
def test_a_strict_provider_takes_every_history(road: RequestPath) -> None:
    flat, sessions = walk(road, SEEDS)

    assert flat.refused | sessions.refused == {}
    assert flat.share > REFUSED_SHARE


@pytest.mark.slow
@pytest.mark.parametrize("road", ROADS, ids=repr)
@pytest.mark.usefixtures("learned")
async def test_over_http_the_very_same_body_arrives_and_is_taken(road: RequestPath) -> None:
    histories = [road.mended(flat_history(seed)) for seed in range(OVER_HTTP)]
    histories += [road.projected(session(seed)) for seed in range(OVER_HTTP)]

    arrived = await road.sent(histories)

    assert [asked.problems for asked in arrived] == [[] for _ in histories]
    assert [asked.body for asked in arrived] == [road.body(one) for one in histories]
