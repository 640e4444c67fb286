"""A request assembled incrementally from the previous one equals the request made from the whole session."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.builders import Builder
from tests.loop.random_edits import RandomlyEditedSession
from tests.sample_size import sample_size

from palimpsest.context.presets import PRESETS
from palimpsest.context.request_assembly.projection import project
from palimpsest.context.visible_messages import LazyTexts, View
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.loop.run_inputs.request_chunks import (
    Assembly,
    RequestTerms,
    assemble_request,
    recorded_items,
)
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

MODELS = {
    name: ModelInfo(
        ref=ModelRef(provider=name.partition("/")[0], name=name.partition("/")[2]),
        window=200_000,
        output_limit=8_000,
        vision=True,
    )
    for name in (
        "openai/gpt-test",
        "anthropic/claude-test",
        "gemini/gemini-2.5-test",
        "mistral/mistral-test",
        "deepseek/deepseek-chat",
        "ollama/llama",
    )
}
SYSTEM = ("You help.", "Today is Saturday.")
TOOLS = (ToolSpec(name="read", description="Read a file.", parameters={"type": "object"}),)
DEFAULT = PRESETS["palimpsest"]


def terms(model: str, count: Callable[[str], int] = len) -> RequestTerms:
    return RequestTerms(SYSTEM, TOOLS, MODELS[model], DEFAULT, count)


def from_scratch(edited: RandomlyEditedSession, wanted: RequestTerms) -> Assembly:
    messages, decisions = tuple(edited.messages), tuple(edited.decisions)
    projection = project(
        View(messages, decisions, LazyTexts(messages, edited.read, decisions)),
        system=wanted.system,
        tools=wanted.tools,
        model=wanted.model,
        policy=wanted.policy,
        count=wanted.count,
    )
    return assemble_request(projection, wanted.model, wanted.count, messages)


def said_alone(edited: RandomlyEditedSession, wanted: RequestTerms) -> int:
    """Return the tokens of a request without system prompt and tools."""
    messages, decisions = tuple(edited.messages), tuple(edited.decisions)
    view = View(messages, decisions, LazyTexts(messages, edited.read, decisions))
    model, policy = wanted.model, wanted.policy
    return project(view, system=(), tools=(), model=model, policy=policy, count=wanted.count).total


def remembered(
    request_cache: RequestCache, edited: RandomlyEditedSession, wanted: RequestTerms
) -> Assembly | None:
    return request_cache.assembly(
        tuple(edited.messages), tuple(edited.decisions), wanted, edited.read
    )


@pytest.mark.slow
@settings(max_examples=sample_size(12, 2_000), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    edits=st.integers(1, 40),
    model=st.sampled_from(sorted(MODELS)),
    tidy=st.booleans(),
)
def test_the_next_request_is_the_one_that_the_whole_session_gives(
    *, seed: int, edits: int, model: str, tidy: bool
) -> None:
    edited = RandomlyEditedSession(seed, tidy=tidy)
    request_cache, wanted = RequestCache(), terms(model)
    for _ in range(edits):
        edited.edit()

        found = remembered(request_cache, edited, wanted)

        if found is not None:
            assert found == from_scratch(edited, wanted)
            assert found.projection.conversation_tokens == said_alone(edited, wanted)


class Counts:
    """A counter of characters that records the texts it counted."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def worked(seed: int, edits: int = 60) -> RandomlyEditedSession:
    """Return a session whose requests can be assembled incrementally."""
    edited = RandomlyEditedSession(seed, tidy=True)
    edited.prompt()
    for _ in range(edits):
        edited.step()
    return edited


def test_each_text_is_counted_once_however_often_a_request_is_made() -> None:
    edited, request_cache, count = worked(1), RequestCache(), Counts()
    wanted = terms("anthropic/claude-test", count)
    for _ in range(20):
        edited.step()
        assert remembered(request_cache, edited, wanted) is not None

    parts = {
        part.id
        for message in edited.messages
        for part in message.parts
        if part.type != "step-start"
    }
    # A call counts as its name and its input, and has an output.
    assert len(count.asked) < 3 * len(parts)
    count.asked.clear()
    assert remembered(request_cache, edited, wanted) is not None
    assert count.asked == []


def test_a_message_more_asks_about_its_own_texts_only() -> None:
    edited, request_cache, count = worked(2), RequestCache(), Counts()
    wanted = terms("openai/gpt-test", count)
    remembered(request_cache, edited, wanted)
    count.asked.clear()

    edited.prompt()
    remembered(request_cache, edited, wanted)

    said = {getattr(part, "text", None) for part in edited.messages[-1].parts}
    assert set(count.asked) <= said


@pytest.mark.slow
@settings(max_examples=sample_size(20, 800), deadline=None)
@given(seed=st.integers(0, 2**32), model=st.sampled_from(sorted(MODELS)), tidy=st.booleans())
@example(seed=1173, model="deepseek/deepseek-chat", tidy=True)
def test_what_was_recorded_of_weights_is_what_counting_gives(
    *, seed: int, model: str, tidy: bool
) -> None:
    edited, wanted = RandomlyEditedSession(seed, tidy=tidy), terms(model)
    for _ in range(25):
        edited.edit()
    items = from_scratch(edited, wanted).items
    for _ in range(3):
        edited.edit()
    whole = from_scratch(edited, wanted)

    found = RequestCache().assembly(
        tuple(edited.messages),
        tuple(edited.decisions),
        wanted,
        edited.read,
        lambda: recorded_items(items),
    )

    assert found is None or found == whole


def test_a_session_that_is_opened_again_is_not_counted_again() -> None:
    build, edited, count = Builder(), RandomlyEditedSession(3, tidy=True), Counts()
    asks = build.user("How many?")
    steps = [build.assistant(build.ran("read", f"There are {n}.", n=n), to=asks) for n in range(9)]
    edited.messages = [asks, *steps]
    wanted = terms("anthropic/claude-test", count)
    items = from_scratch(edited, wanted).items
    count.asked.clear()

    opened = RequestCache().assembly(
        tuple(edited.messages), (), wanted, edited.read, lambda: recorded_items(items)
    )

    assert opened == from_scratch(edited, terms("anthropic/claude-test"))
    assert not any(text.startswith(("There are", "How many", '{"n"')) for text in count.asked)


def test_another_model_gets_a_request_of_its_own() -> None:
    edited, request_cache = worked(4), RequestCache()
    remembered(request_cache, edited, terms("openai/gpt-test"))

    for model in ("anthropic/claude-test", "openai/gpt-test"):
        assert remembered(request_cache, edited, terms(model)) == from_scratch(edited, terms(model))


def test_rules_that_look_at_more_than_neighbours_take_the_other_road() -> None:
    edited = worked(5)
    wanted = RequestTerms(SYSTEM, TOOLS, MODELS["openai/gpt-test"], PRESETS["openclaw-2026.9"], len)

    assert remembered(RequestCache(), edited, wanted) is None
