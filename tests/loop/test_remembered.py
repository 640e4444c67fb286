"""A request that is put together from the one before equals the request made from the whole session."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.loop.edits import Edited

from palimpsest.context.policy import POLICIES
from palimpsest.context.projection import project
from palimpsest.context.texts import load_texts
from palimpsest.context.view import View
from palimpsest.loop.assembly import Assembly, assemble
from palimpsest.loop.pile import Terms
from palimpsest.loop.remembered import Memory
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
DEFAULT = POLICIES["palimpsest"]


def terms(model: str, count: Callable[[str], int] = len) -> Terms:
    return Terms(SYSTEM, TOOLS, MODELS[model], DEFAULT, count)


def from_scratch(edited: Edited, wanted: Terms) -> Assembly:
    messages, decisions = tuple(edited.messages), tuple(edited.decisions)
    projection = project(
        View(messages, decisions, load_texts(messages, edited.read, decisions)),
        system=wanted.system,
        tools=wanted.tools,
        model=wanted.model,
        policy=wanted.policy,
        count=wanted.count,
    )
    return assemble(projection, wanted.model, wanted.count, messages)


def remembered(memory: Memory, edited: Edited, wanted: Terms) -> Assembly | None:
    return memory.assembly(tuple(edited.messages), tuple(edited.decisions), wanted, edited.read)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    edits=st.integers(1, 40),
    model=st.sampled_from(sorted(MODELS)),
    tidy=st.booleans(),
)
def test_the_next_request_is_the_one_that_the_whole_session_gives(
    *, seed: int, edits: int, model: str, tidy: bool
) -> None:
    edited = Edited(seed, tidy=tidy)
    memory, wanted = Memory(), terms(model)
    for _ in range(edits):
        edited.edit()

        found = remembered(memory, edited, wanted)

        if found is not None:
            assert found == from_scratch(edited, wanted)
