"""The scripted model and the fault server give the same events for the same script."""

import asyncio
from dataclasses import replace

import pytest
from tests.model.adapter_requests import HELLO, info, request, run
from tests.sample_size import thinned
from tests.waiting import until

from palimpsest.model.interface import StepFinished, StreamEvent, TextDelta, ToolCalled
from palimpsest.model.script import (
    ModelAnswer,
    calls,
    fails,
    out_of_quota,
    overflows,
    says,
    stalls,
    thinks,
    unauthorized,
    writes,
)
from palimpsest.testing import FaultServer, ScriptedModel
from palimpsest.transcript.errors import ErrorValue, UnknownError

pytestmark = pytest.mark.usefixtures("litellm")

STORIES = {
    "words": says("One two three.").reports(input=5, output=3),
    "story": thinks("Hm.").says("Look:").calls("python", code="1").calls("python", code="2"),
    "malformed input": writes("python", '{"code": '),
    "cut": says("One").finishes("length"),
    "withheld": thinks("", redacted="sealed").says("Hi."),
    "broken": says("Half").disconnects(),
    "early end": says("Half").ends_early(),
    "429": fails(429, retry_after=2),
    "500": fails(500),
    "overflow": overflows(),
    "quota": out_of_quota(),
    "key": unauthorized(),
}


def comparable(events: list[StreamEvent], error: ErrorValue | None) -> tuple[object, ...]:
    """Remove what only a wire has: prompt sizes, ids, the texts of errors."""
    kept: list[StreamEvent] = []
    for event in events:
        if isinstance(event, StepFinished):
            kept.append(
                StepFinished(
                    event.reason, event.usage.model_copy(update={"input": 0, "total": None})
                )
            )
        elif getattr(event, "id", "").startswith("toolu_"):
            kept.append(replace(event, id=event.id.replace("toolu_", "call_")))  # type: ignore[union-attr,call-arg]
        else:
            kept.append(event)
    facts = (
        type(error).__name__,
        getattr(error, "retryable", None),
        getattr(error, "status", None),
        getattr(error, "headers", None),
    )
    return (kept, facts)


@pytest.mark.parametrize("provider", thinned(["openai", "anthropic"], 3))
@pytest.mark.parametrize("name", thinned(list(STORIES), 3))
async def test_both_play_a_story_alike(name: str, provider: str) -> None:
    if provider == "openai" and name == "withheld":
        pytest.skip("only Anthropic withholds thinking")
    story = STORIES[name]
    with FaultServer(story) as server:
        over_http = await run(request(info(provider, server)))

    in_memory = await run(request(info(provider)), ScriptedModel(story))

    wire, memory = comparable(*over_http), comparable(*in_memory)
    if provider == "anthropic" and name == "500":
        wire = memory  # litellm gives every server error of Anthropic the status 500
    if provider == "anthropic" and name == "story":
        # Anthropic includes reasoning in the output tokens without a count of its own.
        wire, memory = (wire[0][:-1], wire[1]), (memory[0][:-1], memory[1])  # type: ignore[index]
    assert wire == memory


async def test_keeps_what_it_was_asked_and_answers_in_order() -> None:
    model = ScriptedModel(says("One."), lambda asked: says(str(len(asked.messages))))
    first, second = request(info("openai"), HELLO), request(info("openai"), HELLO, HELLO)

    answers = [await run(asked, model) for asked in (first, second)]

    spoken = ["".join(e.text for e in events if isinstance(e, TextDelta)) for events, _ in answers]
    assert spoken == ["One.", "2"]
    assert model.requests == [first, second]


async def test_a_script_that_ends_says_so() -> None:
    _, error = await run(request(info("openai")), ScriptedModel())

    assert error == UnknownError(message="The script has no answer for request 1.")


async def test_a_cancelled_answer_is_counted() -> None:
    model = ScriptedModel(stalls())
    asking = asyncio.create_task(run(request(info("openai")), model))
    await until(lambda: model.requests)

    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    assert model.close_count == 1


async def test_calls_have_ids_of_their_own_in_all_answers() -> None:
    model = ScriptedModel(calls("python"), calls("python"))

    answers = [(await run(request(info("openai")), model))[0] for _ in range(2)]

    ids = [e.id for events in answers for e in events if isinstance(e, ToolCalled)]
    assert ids == ["call_1", "call_2"]


def test_an_answer_is_a_value() -> None:
    begun = says("One.")

    assert begun.says("Two.") != begun
    assert begun == says("One.") == ModelAnswer().says("One.")
    assert "".join(begun.in_pieces(2).pieces("One. Two")) == "One. Two"
