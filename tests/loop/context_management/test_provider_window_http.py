"""A provider whose window is smaller than ours is named, with both numbers and the setting that mends it."""

import pytest
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.http_session import HttpSessionHarness

from palimpsest.model.script import ModelAnswer, fails, says
from palimpsest.testing import ReceivedRequest as Arrived
from palimpsest.transcript.errors import ContextOverflowError

pytestmark = pytest.mark.slow

STATED = "This model's maximum context length is 2048 tokens. However, your messages resulted in {} tokens."
UNSTATED = "context_length_exceeded: your input exceeds the context window of this model"


def refuses(words: str) -> object:
    """Refuse all requests but summaries in these words."""

    def answer(request: Arrived) -> ModelAnswer:
        if "You write summaries" in str(request.body):
            return says(SUMMARY)
        return fails(400, message=words)

    return answer


async def test_refusals_in_a_row_name_what_was_refused_and_the_setting(
    harness: HttpSessionHarness,
) -> None:
    await harness.add_long_turns(6)
    harness.server.script(*[refuses(UNSTATED)] * 12)
    info = harness.harness.info(harness.id)

    answer = await harness.ask("And now?")

    assert answer.error is not None
    message = answer.error.message
    assert "at most" in message
    assert "which it refused" in message
    assert f"{info.window:,}" in message
    assert f'[models."{info.ref.id}"] in palimpsest.toml' in message
    assert "Traceback" not in message


async def test_a_provider_that_says_its_window_is_believed_at_once(
    harness: HttpSessionHarness,
) -> None:
    harness.server.script(*[refuses(STATED.format(4_811))] * 12)
    info = harness.harness.info(harness.id)

    answer = await harness.ask("And now? " + "word " * 500)

    assert isinstance(answer.error, ContextOverflowError)
    message = answer.error.message
    assert "takes 2,048 tokens, as it says" in message
    assert f"the window here is {info.window:,}" in message
    assert f'Write window = 2048 below [models."{info.ref.id}"] in palimpsest.toml' in message


async def test_a_provider_whose_window_is_ours_gets_no_advice(harness: HttpSessionHarness) -> None:
    info = harness.harness.info(harness.id)
    harness.harness.narrow(info.model_copy(update={"window": 20_000}))
    words = "prompt is too long: 21310 tokens > 20000 maximum"
    harness.server.script(*[refuses(words)] * 12)

    answer = await harness.ask("And now? " + "word " * 500)

    assert isinstance(answer.error, ContextOverflowError)
    assert "palimpsest.toml" not in answer.error.message
