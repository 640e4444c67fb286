"""A request refused in unknown words is tried once as too long, and no more."""

import pytest
from tests.harness.compacted_sessions import SUMMARY, summaries
from tests.harness.http_session import HttpSessionHarness
from tests.sample_size import thinned

from palimpsest.model.script import ModelAnswer, fails, says
from palimpsest.testing import ReceivedRequest as Arrived
from palimpsest.transcript.errors import ApiError

pytestmark = pytest.mark.slow

LM_STUDIO = (
    "Trying to keep the first 40000 tokens when context the overflows. However, the model is loaded with context "
    "length of only 32768 tokens, which is not enough."
)
UNKNOWN = "Malformed: 4811 token ids given, 4096 at most"
OTHER = "temperature: must be below 2"
ANSWER = "completion must be at most 4096 tokens"


def refuses(words: str, above: int) -> object:
    """Refuse requests with more characters than that in these words; summarise, and answer the others."""

    def answer(request: Arrived) -> ModelAnswer:
        if "You write summaries" in str(request.body):
            return says(SUMMARY)
        long = len(str(request.body["messages"])) > above
        return fails(400, message=words) if long else says("It is 43.92.")

    return answer


@pytest.mark.parametrize("words", thinned([LM_STUDIO, UNKNOWN, "Prompt exceeds max length"], 3))
async def test_a_summary_makes_room(harness: HttpSessionHarness, words: str) -> None:
    await harness.add_long_turns()
    harness.server.script(*[refuses(words, 15_000)] * 6)

    answer = await harness.ask("And now?")

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    session = await harness.session()
    assert len(summaries(session.log.state.messages())) == 1


async def test_it_is_tried_once(harness: HttpSessionHarness) -> None:
    await harness.add_long_turns()
    harness.server.script(*[refuses(UNKNOWN, 0)] * 6)
    before = len(harness.server.bodies)

    answer = await harness.ask("And now?")

    assert isinstance(answer.error, ApiError)
    assert UNKNOWN in answer.error.message
    assert len(harness.server.bodies) - before == 3  # refused, summarised, refused


@pytest.mark.parametrize("words", [OTHER, ANSWER])
async def test_what_speaks_of_something_else_is_told_at_once(
    harness: HttpSessionHarness, words: str
) -> None:
    await harness.add_long_turns()
    harness.server.script(fails(400, message=words))
    before = len(harness.server.bodies)

    answer = await harness.ask("And now?")

    assert isinstance(answer.error, ApiError)
    assert words in answer.error.message
    assert len(harness.server.bodies) - before == 1


@pytest.mark.soak  # with each commit a summary makes room after a refusal that says why, above; this adds one that says nothing
async def test_near_the_window_any_refusal_counts(harness: HttpSessionHarness) -> None:
    await harness.add_long_turns(10)
    info = harness.harness.info(harness.id)
    harness.harness.narrow(info.model_copy(update={"window": 18_000}))
    harness.server.script(*[refuses("Bad request", 30_000)] * 6)

    answer = await harness.ask("And now?")

    assert (answer.text, answer.error) == ("It is 43.92.", None)
