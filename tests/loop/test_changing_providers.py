"""One session switches from provider to provider, and each strict provider accepts its whole history."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.http_session import AnyProviderHarness
from tests.harness.session import ask
from tests.model.expected_body import expected_bodies
from tests.model.valid_bodies import PNG
from tests.provider_rules.dialects import problems
from tests.sample_size import sampled_cases

from palimpsest.model.script import ModelAnswer, calls, says, thinks
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.interfaces.prompt_answer import Answer as SessionAnswer
from palimpsest.testing import FaultServer

MODELS = (
    "gemini/gemini-3-pro-preview",
    "openai/gpt-5.1",
    "anthropic/claude-sonnet-4-5",
    "mistral/mistral-large-latest",
    "gemini/gemini-2.5-pro",
)
ROUTES = [MODELS, MODELS[::-1], (*MODELS[2:], *MODELS[:2])]


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyProviderHarness]:
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-test-0123456789")
    (tmp_path / "a.png").write_bytes(base64.b64decode(PNG))
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with FaultServer(check=problems) as server:
        yield AnyProviderHarness(tmp_path, server, vision=True)


def turn() -> tuple[ModelAnswer, ...]:
    """Return answers that read an image, read a file twice, call an unknown tool, and end the turn."""
    looks = thinks("Hm.").says("I look.").calls("read", path="a.png").calls("read", path="a.txt")
    return (looks.calls("read", path="a.txt"), calls("no such tool!", x=1), says("Done."))


@pytest.mark.slow
@pytest.mark.parametrize(
    "route", sampled_cases({route[0]: (route,) for route in ROUTES}, MODELS[0])
)
async def test_a_session_wanders_through_all_providers(
    harness: AnyProviderHarness, route: tuple[str, ...]
) -> None:
    session = await harness.session()
    told: list[SessionAnswer] = []
    for model in route:
        harness.server.script(*turn())
        told.append(await ask(session, f"Look again, {model}.", model=model, yes=True))

    assert [asked.problems for asked in harness.server.requests] == [[]] * 3 * len(route)
    assert [(answer.text, answer.error, answer.steps) for answer in told] == [
        ("Done.", None, 3)
    ] * len(route)
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert all(found.matches for found in rebuilt)
    assert expected_bodies([found.request for found in rebuilt]) == harness.server.bodies
