"""The rehearsal model streams word by word, reports usage like a provider, and plays scenarios."""

from typing import Any

import pytest

from palimpsest.model.errors.retry import is_retryable
from palimpsest.model.interface import (
    ModelRequest,
    ReasoningDelta,
    StepFinished,
    StreamEvent,
    TextDelta,
    ToolCalled,
)
from palimpsest.model.script import calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.rehearsal.rehearsal_model import Rehearsal, word_seconds
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.transcript.errors import ApiError, ModelFailed, UserError
from palimpsest.transcript.values import ModelInfo, ModelRef, Price, ToolSpec, Usage

VARIABLES = ToolSpec(
    name="variables", description="Lists variables.", parameters={"type": "object"}
)
PROMPT: dict[str, Any] = {"role": "user", "content": "which variables are there?"}
SYSTEM: dict[str, Any] = {"role": "system", "content": "You are an agent. " * 40}


@pytest.fixture(autouse=True)
def _no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_REHEARSAL_DELAY", "0")


async def chunks(
    model: Rehearsal,
    *messages: dict[str, Any],
    name: str = "rules",
    session: str | None = "ses_1",
    purpose: str = "step",
    tools: tuple[ToolSpec, ...] = (VARIABLES,),
) -> list[StreamEvent]:
    request = ModelRequest(
        model=info(name), messages=messages, tools=tools, session_id=session, purpose=purpose
    )
    return [event async for event in model.stream(request)]


def text_of(found: list[StreamEvent]) -> str:
    return "".join(event.text for event in found if isinstance(event, TextDelta))


def usage_of(found: list[StreamEvent]) -> Usage:
    finish = found[-1]
    assert isinstance(finish, StepFinished)
    return finish.usage


async def test_thinks_then_speaks_then_calls() -> None:
    events = await chunks(Rehearsal(), SYSTEM, PROMPT)

    event_types = (ReasoningDelta, TextDelta, ToolCalled, StepFinished)
    kinds = [type(event) for event in events if isinstance(event, event_types)]
    assert tuple(dict.fromkeys(kinds)) == event_types
    assert all(len(event.text.split()) == 1 for event in events if isinstance(event, TextDelta))
    assert events[-1].reason == "tool-calls"  # type: ignore[union-attr]


async def test_the_same_request_streams_the_same_chunks() -> None:
    assert await chunks(Rehearsal(), SYSTEM, PROMPT) == await chunks(Rehearsal(), SYSTEM, PROMPT)


async def test_call_ids_differ_from_request_to_request() -> None:
    first = await chunks(Rehearsal(), PROMPT)
    second = await chunks(Rehearsal(), SYSTEM, PROMPT)
    ids = [chunk.id for chunk in (*first, *second) if isinstance(chunk, ToolCalled)]

    assert len(set(ids)) == 2


async def test_counts_the_answer_with_the_real_tokenizer() -> None:
    events = await chunks(Rehearsal(), {"role": "user", "content": "thanks"}, tools=())
    count = counter("tiktoken/o200k_base")

    assert usage_of(events).output == count(text_of(events))
    assert usage_of(events).cache_read == 0


async def test_reads_the_common_prefix_from_its_cache() -> None:
    model = Rehearsal()
    first = usage_of(await chunks(model, SYSTEM, PROMPT))
    second = usage_of(
        await chunks(
            model,
            SYSTEM,
            PROMPT,
            {"role": "assistant", "content": "Hm."},
            {"role": "user", "content": "thanks"},
        )
    )

    assert second.cache_read == first.prompt
    assert 0 < second.input < first.prompt


async def test_a_changed_beginning_misses_the_cache() -> None:
    model = Rehearsal()
    await chunks(model, SYSTEM, PROMPT, tools=())
    changed = usage_of(await chunks(model, {**SYSTEM, "content": "Other."}, PROMPT, tools=()))

    assert changed.cache_read < 20


async def test_a_fork_reads_what_its_parent_has_sent_from_the_cache() -> None:
    model = Rehearsal()
    parent = usage_of(await chunks(model, SYSTEM, PROMPT))
    answer = {"role": "assistant", "content": "Hm."}
    fork = usage_of(await chunks(model, SYSTEM, PROMPT, answer, PROMPT, session="ses_2"))
    stranger = usage_of(
        await chunks(model, {**SYSTEM, "content": "Other."}, session="ses_3", tools=())
    )

    assert fork.cache_read == parent.prompt
    assert stranger.cache_read < 20


async def test_cache_marks_change_no_count() -> None:
    model = Rehearsal()
    plain = usage_of(await chunks(model, SYSTEM, PROMPT))
    block = {"type": "text", "text": SYSTEM["content"], "cache_control": {"type": "ephemeral"}}
    marked = usage_of(await chunks(model, {"role": "system", "content": [block]}, PROMPT))

    assert marked.cache_read == plain.prompt


async def test_titles_do_not_disturb_the_cache_of_the_steps() -> None:
    model = Rehearsal()
    first = usage_of(await chunks(model, SYSTEM, PROMPT))
    await chunks(model, {"role": "user", "content": "Generate a title:"}, PROMPT, purpose="title")

    assert usage_of(await chunks(model, SYSTEM, PROMPT)).cache_read == first.prompt


@pytest.mark.parametrize(
    ("parameters", "environment", "seconds"),
    [
        ({}, "0.25", 0.25),
        ({"words_per_second": 100}, "0.25", 0.01),
        ({}, "nonsense", 0.005),
        ({}, "-1", 0.0),
    ],
)
def test_the_pace_can_be_set(
    parameters: dict[str, Any], environment: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_REHEARSAL_DELAY", environment)

    assert word_seconds(parameters) == seconds


STORY = [
    {
        "thinks": "First I look.",
        "says": "Let me look.",
        "calls": [{"tool": "variables", "input": {}}],
    },
    {"fails": 429, "message": "Slow down.", "retry_after": 2},
    {"says": "Three columns.", "delay": 0},
    [{"says": "Cut of"}, {"ends_early": True}],
    says("Goodbye."),
]


async def test_plays_a_scenario_step_by_step() -> None:
    register_scenario("story", STORY)
    model, messages = Rehearsal(), [PROMPT]
    first = await chunks(model, *messages, name="story")
    assert text_of(first) == "Let me look."
    assert [c.tool for c in first if isinstance(c, ToolCalled)] == ["variables"]

    messages += [{"role": "assistant", "content": "Let me look."}]
    with pytest.raises(ModelFailed) as failed:
        await chunks(model, *messages, name="story")
    assert isinstance(failed.value.error, ApiError)
    assert (failed.value.error.status, failed.value.error.headers) == (429, {"retry-after": "2"})

    assert text_of(await chunks(model, *messages, name="story")) == "Three columns."
    messages += [{"role": "assistant", "content": "Three columns."}]
    with pytest.raises(ModelFailed, match="ended early"):
        await chunks(model, *messages, name="story")
    assert text_of(await chunks(model, *messages, name="story")) == "Goodbye."
    messages += [{"role": "assistant", "content": "Goodbye."}]
    assert "is over" in text_of(await chunks(model, *messages, name="story"))


async def test_an_undone_prompt_is_played_again() -> None:
    register_scenario("twice", [says("One."), says("Two.")])
    model = Rehearsal()
    await chunks(model, PROMPT, name="twice")
    await chunks(model, PROMPT, {"role": "assistant", "content": "One."}, PROMPT, name="twice")

    assert text_of(await chunks(model, PROMPT, name="twice")) == "One."


async def test_goes_on_after_a_compaction_hid_earlier_steps() -> None:
    register_scenario("long", [says("One."), says("Two."), says("Three.")])
    model = Rehearsal()
    await chunks(model, PROMPT, name="long")
    await chunks(model, PROMPT, {"role": "assistant", "content": "One."}, PROMPT, name="long")
    folded = [
        {"role": "user", "content": "What did we do so far?"},
        {"role": "assistant", "content": "## Goal"},
        PROMPT,
    ]

    assert text_of(await chunks(model, *folded, name="long")) == "Three."


async def test_titles_are_extracted_also_in_a_scenario() -> None:
    register_scenario("quiet", [says("One.")])
    events = await chunks(
        Rehearsal(),
        {"role": "user", "content": "Generate a title for this conversation:\ncount whales"},
        name="quiet",
        purpose="title",
    )

    assert text_of(events) == "Count whales"


async def test_an_unknown_scenario_says_which_there_are() -> None:
    register_scenario("story", STORY)
    with pytest.raises(ModelFailed, match=r"no rehearsal scenario 'nonsense'.*story"):
        await chunks(Rehearsal(), PROMPT, name="nonsense")


async def test_an_unknown_scenario_is_asked_for_once_whatever_the_others_are_called() -> None:
    register_scenario("rate-limit", STORY)
    with pytest.raises(ModelFailed) as failed:
        await chunks(Rehearsal(), PROMPT, name="nonsense")

    error = failed.value.error
    assert "no rehearsal scenario 'nonsense'" in error.message
    assert not is_retryable(error)


@pytest.mark.parametrize("steps", ["text", {"says": "one"}, [{"sings": "la"}]])
def test_a_scenario_that_is_none_is_refused(steps: Any) -> None:
    with pytest.raises(UserError):
        register_scenario("broken", steps)


def test_the_rules_cannot_be_replaced_by_a_scenario() -> None:
    with pytest.raises(UserError, match="taken by the rules"):
        register_scenario("rules", [says("One.")])


def info(name: str) -> ModelInfo:
    return ModelInfo(
        ref=ModelRef(provider="rehearsal", name=name),
        window=200_000,
        output_limit=32_000,
        price=Price(input=0.0, output=0.0, cache_read=0.0, cache_write=0.0),
    )


@pytest.mark.slow
async def test_streams_as_any_provider_does() -> None:
    request = ModelRequest(
        model=info("rules"), messages=(SYSTEM, PROMPT), tools=(VARIABLES,), session_id="ses_1"
    )
    events = [event async for event in Rehearsal().stream(request)]

    assert any(isinstance(event, ReasoningDelta) for event in events)
    assert "No language model" in "".join(e.text for e in events if isinstance(e, TextDelta))
    called = [event for event in events if isinstance(event, ToolCalled)]
    assert [(call.tool, call.input) for call in called] == [("variables", {})]
    finish = events[-1]
    assert isinstance(finish, StepFinished)
    direct = usage_of(await chunks(Rehearsal(), SYSTEM, PROMPT))
    assert finish.usage.prompt == direct.prompt
    assert finish.cost == 0.0
    assert finish.reason == "tool-calls"


@pytest.mark.slow
async def test_a_scenario_fails_as_a_provider_does() -> None:
    register_scenario("limited", [{"fails": 429, "retry_after": 1}, calls("variables")])
    request = ModelRequest(model=info("limited"), messages=(PROMPT,), session_id="ses_9")
    model = Rehearsal()
    with pytest.raises(ModelFailed) as failed:
        [event async for event in model.stream(request)]

    assert isinstance(failed.value.error, ApiError)
    assert (failed.value.error.status, failed.value.error.retryable) == (429, True)
    events = [event async for event in model.stream(request)]
    assert any(isinstance(event, ToolCalled) for event in events)


STEPS = [says(f"Step {number}.") for number in range(6)]
FOLDED: tuple[dict[str, Any], ...] = (
    SYSTEM,
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What did we do so far?"},
            {"type": "text", "text": "<variables>\ndf: DataFrame\n</variables>"},
        ],
    },
    {"role": "assistant", "content": "## Goal\n- a"},
)


def said(at: int) -> tuple[dict[str, Any], ...]:
    """Return a prompt and a step's answer."""
    return PROMPT, {"role": "assistant", "content": f"Step {at}."}


@pytest.mark.parametrize("name", ["kept in this kernel", "a new kernel"])
async def test_a_scenario_keeps_its_place_behind_a_compaction(name: str) -> None:
    register_scenario(f"folded {name}", STEPS)
    model = Rehearsal()
    history: tuple[dict[str, Any], ...] = (SYSTEM,)
    for number in range(4):
        await chunks(model, *history, PROMPT, name=f"folded {name}")
        history = (*history, *said(number))
    if name == "a new kernel":
        model = Rehearsal()

    folded = (*FOLDED, *said(2), *said(3), PROMPT)

    assert text_of(await chunks(model, *folded, name=f"folded {name}")) == "Step 4."
    more = (*FOLDED, *said(3), *said(4), PROMPT)
    assert text_of(await chunks(model, *more, name=f"folded {name}")) == "Step 5."
    undone = (*FOLDED, *said(3), PROMPT)
    assert text_of(await chunks(model, *undone, name=f"folded {name}")) == "Step 4."
