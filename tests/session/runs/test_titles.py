"""A session gets its title beside the first turn, which neither waits for it nor fails with it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness, ask, requested
from tests.waiting import LAST_RESORT_SECONDS, request_ended

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, fails, says, stalls
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.runs.title_writer import small_model
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-sonnet-5"), window=100_000, output_limit=4_000
)


class Pair:
    """A model with two scripts: one for titles, one for other requests."""

    def __init__(self, answers: ScriptedModel, titles: ScriptedModel) -> None:
        self.answers = answers
        self.titles = titles

    def stream(self, request: ModelRequest) -> Any:
        return (self.titles if request.purpose == "title" else self.answers).stream(request)


def make_harness(
    tmp_path: Path, *titles: ModelAnswer | Callable[[ModelRequest], ModelAnswer]
) -> SessionHarness:
    pair = Pair(ScriptedModel(*(says(f"Answer {n}.") for n in range(5))), ScriptedModel(*titles))
    return SessionHarness(tmp_path, pair, titles=True)


def title(session: LiveSession) -> str:
    loaded = session.snapshot().session
    assert loaded is not None
    return loaded.title


async def test_a_model_names_the_session_after_its_first_prompt(tmp_path: Path) -> None:
    here = make_harness(
        tmp_path, says("<think>Hm.\nPenguins.</think>\n\n  Penguins by island \nmore")
    )
    session = await here.session()
    answer = await ask(session, "How many penguins are there per island?\nLook into penguins.csv.")
    await request_ended(session.title_writer)

    assert answer.text == "Answer 0."
    assert title(session) == "Penguins by island"
    await ask(session, "And by year?")
    await request_ended(session.title_writer)
    [first, *others] = [event.request for event in requested(await here.records(session))]
    kinds = sorted([first.purpose, *(other.purpose for other in others)])
    assert kinds == ["step", "step", "title"]


async def test_the_request_is_rebuilt_and_counted(tmp_path: Path) -> None:
    here = make_harness(tmp_path, says("Penguins"))
    session = await here.session()
    await ask(session, "How many penguins?")
    await request_ended(session.title_writer)
    await ask(session, "And now?")
    records = await here.records(session)

    rebuilt = list(rebuild_all(here.store, session.id, records))

    assert [rebuilt_request.matches for rebuilt_request in rebuilt] == [True, True, True]
    [asked] = [
        rebuilt_request for rebuilt_request in rebuilt if rebuilt_request.record.purpose == "title"
    ]
    assert asked.request.parameters["temperature"] == 0.5
    assert asked.request.tools == ()
    assert asked.request.messages[-1]["content"].endswith(
        "<conversation>\nHow many penguins?\n</conversation>"
    )
    steps = [
        rebuilt_request.record
        for rebuilt_request in rebuilt
        if rebuilt_request.record.purpose == "step"
    ]
    assert steps[1].same == len(steps[0].items)
    answers = [m.info.tokens for m in session.snapshot().messages if m.info.role == "assistant"]
    loaded = session.snapshot().session
    assert loaded is not None
    assert loaded.tokens.input > sum(answer.input for answer in answers)


async def test_the_first_words_stand_there_until_then_and_when_it_fails(tmp_path: Path) -> None:
    words = "one two three " * 10
    here = make_harness(tmp_path, fails(400, "no"))
    session = await here.session()
    answer = await ask(session, f"\n {words}\nmore")
    await request_ended(session.title_writer)

    assert answer.error is None
    assert title(session) == words[:59].rstrip() + "…"


async def test_what_a_person_called_it_stays(tmp_path: Path) -> None:
    waiting, loop = asyncio.Event(), asyncio.get_running_loop()

    def late(_request: ModelRequest) -> ModelAnswer:
        loop.call_soon_threadsafe(waiting.set)
        return replace(says("From the model"), drip_seconds=0.05)

    here = make_harness(tmp_path, late)
    session = await here.session()
    asking = asyncio.ensure_future(ask(session, "hello there"))
    await waiting.wait()
    session.log.change_session(title="Mine")
    await asking
    await request_ended(session.title_writer)

    assert title(session) == "Mine"


async def test_a_turn_does_not_wait_and_closing_gives_it_up(tmp_path: Path) -> None:
    here = make_harness(tmp_path, stalls())
    session = await here.session()
    assert (await ask(session, "hello")).text == "Answer 0."
    await asyncio.wait_for(here.workspace.close(), LAST_RESORT_SECONDS)
    assert title(session) == "hello"


async def test_titles_can_be_switched_off(tmp_path: Path) -> None:
    model = ScriptedModel(says("Answer."))
    here = SessionHarness(tmp_path, model)
    session = await here.session()
    await ask(session, "hello")
    await request_ended(session.title_writer)
    assert [request.purpose for request in model.requests] == ["step"]


def test_a_small_model_of_the_same_provider_writes_titles() -> None:
    def info_of(name: str) -> ModelInfo:
        provider, _, rest = name.partition("/")
        return INFO.model_copy(update={"ref": ModelRef(provider=provider, name=rest)})

    agent = Agent(name="title", description="", model="mistral/tiny")
    served = INFO.model_copy(update={"api_base": "http://127.0.0.1:1"})

    assert small_model(None, {}, info_of, INFO).ref.id == "anthropic/claude-haiku-4-5"
    assert small_model("openai/x", {}, info_of, INFO).ref.id == "openai/x"
    assert small_model("openai/x", {"title": agent}, info_of, INFO).ref.id == "mistral/tiny"
    assert small_model(None, {}, info_of, served) is served


async def test_the_title_agent_may_have_words_of_its_own(tmp_path: Path) -> None:
    here = make_harness(tmp_path, says("PENGUINS"))
    titler = here.services.agents.known_agents["title"].model_copy(
        update={"prompt": "Shout the title."}
    )
    object.__setattr__(
        here.services.agents, "known_agents", {**here.services.agents.known_agents, "title": titler}
    )
    session = await here.session()

    await ask(session, "How many penguins?")
    await request_ended(session.title_writer)

    [asked] = [
        rebuilt_request
        for rebuilt_request in rebuild_all(here.store, session.id, await here.records(session))
        if rebuilt_request.record.purpose == "title"
    ]
    assert asked.matches
    assert asked.request.messages[0] == {"role": "system", "content": "Shout the title."}
    assert title(session) == "PENGUINS"
