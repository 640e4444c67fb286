"""Four strict providers accept any history after the projection, and refuse most without it.

Random histories, flat ones and whole sessions, take the whole way: default policy, our writer, litellm's
translation. A seed names each of them, so a failure can be reproduced alone.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from tests.context.damaged_histories import flat_history
from tests.context.random_sessions import session
from tests.context.request_paths import Body, RequestPath
from tests.sample_size import sample_size, seeds, thinned

from palimpsest.model.adapter.litellm_model import LOADER

REQUEST_PATHS = (
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
SEEDS = seeds(24, 10_000)
EACH_SESSION = sample_size(1, 4)
"""In the long run every fourth seed makes a session, too, since sessions are larger."""
EACH_LIMITED = 4
"""Three of four histories get a history limit, of one to three turns."""
OVER_HTTP = sample_size(4, 8)
REFUSED_SHARE = 0.5
"""At least this share of histories is refused without repair."""


@pytest.fixture(scope="module")
def learned() -> Iterator[None]:
    """Record the fields around the messages of each model's requests."""
    with pytest.MonkeyPatch.context() as patch:
        for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
            patch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
        LOADER.wait_for_litellm()
        for path in REQUEST_PATHS:
            asyncio.run(path.learn())
        yield


@dataclass
class Tally:
    """Counts of refused histories for one request path."""

    count: int = 0
    refused_before: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)
    """Problems after the projection, by history: it must stay empty."""

    def add(self, path: RequestPath, name: str, after: list[Body], before: list[Body]) -> None:
        self.count += 1
        self.refused_before += bool(path.problems(before))
        problems = path.problems(after)
        if problems:
            self.refused[name] = problems

    @property
    def share(self) -> float:
        return self.refused_before / self.count


def walk(path: RequestPath, seeds: Sequence[int]) -> tuple[Tally, Tally]:
    """Check flat histories and sessions on one request path."""
    flat, sessions = Tally(), Tally()
    for seed in seeds:
        history = flat_history(seed)
        repaired = path.repaired(history, seed % EACH_LIMITED or None)
        flat.add(path, f"flat {seed}", repaired, path.unrepaired(history))
        if seed % EACH_SESSION == 0:
            view = session(seed)
            sessions.add(path, f"session {seed}", path.projected(view), path.unprojected(view))
    return flat, sessions


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
@pytest.mark.parametrize("path", thinned(REQUEST_PATHS, 5), ids=repr)
@pytest.mark.usefixtures("learned")
def test_a_strict_provider_takes_every_history(path: RequestPath) -> None:
    flat, sessions = walk(path, SEEDS)

    assert flat.refused | sessions.refused == {}
    assert flat.share > REFUSED_SHARE


@pytest.mark.slow
@pytest.mark.parametrize("path", thinned(REQUEST_PATHS, 5), ids=repr)
@pytest.mark.usefixtures("learned")
async def test_over_http_the_very_same_body_arrives_and_is_taken(path: RequestPath) -> None:
    histories = [path.repaired(flat_history(seed)) for seed in range(OVER_HTTP)]
    histories += [path.projected(session(seed)) for seed in range(OVER_HTTP)]

    arrived = await path.sent(histories)

    assert [asked.problems for asked in arrived] == [[] for _ in histories]
    assert [asked.body for asked in arrived] == [path.body(history) for history in histories]
