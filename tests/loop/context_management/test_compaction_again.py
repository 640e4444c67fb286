"""After a failed compaction, the next one summarises what the first should have, under every preset.

The newest recorded OpenCode moves a tail to the front even if its summary failed, and hides the messages
before it (tests/golden/test_fold.py); so does its preset.
"""

import asyncio
from pathlib import Path

import pytest
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, rebuilt
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.model.script import ModelAnswer, fails, overflows, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy

TURNS = {"First": 2_000, "Second": 300, "Third": 300}
"""The number of words in each turn's answer."""


async def talked(
    tmp_path: Path, preset: str, *later: ModelAnswer, tail_tokens: int = 820
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session of three turns, of which a compaction keeps one and a half as its tail."""
    policy = policy_with_changes(PRESETS[preset], {"compact.tail_tokens": tail_tokens})
    answers = [says(f"{turn} answer." + " word" * words) for turn, words in TURNS.items()]
    harness, model = make_fit_harness(tmp_path, *answers, *later, window=60_000, policy=policy)
    session = await harness.session()
    for turn in TURNS:
        await ask(session, f"{turn} prompt, in a sentence of several words.")
    return harness, model, session


def told(model: ScriptedModel, number: int) -> list[str]:
    """Return the turns whose prompt or answer is in a request."""
    words = str(model.requests[number].messages)
    pieces = (f"{turn} {what}" for turn in (*TURNS, "Fourth") for what in ("prompt", "answer"))
    return [piece for piece in pieces if piece in words]


@pytest.mark.parametrize("preset", thinned(PRESETS, 3))
async def test_a_compaction_after_a_failed_one_tells_what_it_does_not_keep(
    tmp_path: Path, preset: str
) -> None:
    harness, model, session = await talked(
        tmp_path, preset, fails(400, "no"), says(SUMMARY), says("Well.")
    )
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Fourth prompt.")

    summarised, kept = told(model, 4), told(model, 5)
    match preset:
        case "opencode-1.1":
            # With this preset a failed summary shortens the history like a good one.
            assert (summarised, kept) == ([], ["Fourth prompt"])
        case "opencode-1.18":
            # The second compaction saw only the tail of the failed one.
            assert summarised == ["Second answer"]
            assert kept == ["Third prompt", "Third answer", "Fourth prompt"]
        case _:
            assert summarised == ["First prompt", "First answer"]
            assert kept == [*told(model, 2)[2:], "Third answer", "Fourth prompt"]
    await rebuilt(harness, session, model)
    check_log_laws(harness.store, session.id)


async def test_a_compaction_that_did_not_fit_itself_hides_nothing_under_the_newest_opencode(
    tmp_path: Path,
) -> None:
    harness, model, session = await talked(
        tmp_path, "opencode-1.18", overflows(), says("Well."), says(SUMMARY), says("Yes.")
    )
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Fourth prompt.")

    assert len(told(model, 4)) == 7
    await rebuilt(harness, session, model)
    check_log_laws(harness.store, session.id)


async def test_a_prompt_that_did_not_fit_is_said_again_behind_a_tail_that_holds_it_too(
    tmp_path: Path,
) -> None:
    """The tail reaches up to the marker, live and in a what-if."""
    harness, model, session = await talked(
        tmp_path, "opencode-1.18", overflows(), says(SUMMARY), says("Well.")
    )
    await ask(session, "Fourth prompt.")
    await session.journal.flush()

    whatif = check_log_laws(harness.store, session.id)
    assert [str(request.messages).count("Fourth prompt") for request in model.requests[3:]] == [
        1,
        0,
        2,
    ]
    request = whatif.other.steps[-1].request
    assert request is not None
    assert str(request.messages).count("Fourth prompt") == 2
    plain = exact_whatif(harness.store, session.id, Policy())
    for step in plain.other.steps:
        assert str(step.request).count("Fourth prompt") <= 1


async def test_two_who_ask_at_once_get_one_summary(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, "palimpsest", says(SUMMARY), says("Never sent."))

    first, second = await asyncio.wait_for(
        asyncio.gather(session.compact(), session.compact()), LAST_RESORT_SECONDS
    )

    assert first == second
    assert [request.purpose for request in model.requests[len(TURNS) :]] == ["compaction"]
