"""A request that cannot be made to fit ends in an error with the reason and the one helpful command."""

from pathlib import Path

from tests.harness.session import ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.model.script import calls, fails, says
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.parts import ToolPart

ALONE = policy_with_changes(Policy(), {"overflow.auto": False})


async def test_pins_that_fill_the_window_are_named(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("a line\n" * 300)
    small = calls("read", path="small.txt").reports_nothing()
    harness, model = make_fit_harness(
        tmp_path,
        *reads(*range(8)),
        small,
        says("Well."),
        says("Yes."),
        window=60_000,
        policy=ALONE,
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    outputs = [
        part
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, ToolPart)
    ]
    for part in outputs:
        session.edit_context("pin", part.id)
    wide = harness.info("scripted/model")
    harness.narrow(wide.model_copy(update={"window": 17_000}))
    sent = len(model.requests)

    refused = await ask(session, "Sure?")

    assert refused.error is not None
    assert len(model.requests) == sent
    assert refused.stopped_by == "window"
    words = refused.error.message
    assert "What is pinned takes about" in words
    named = words.rpartition("%agent unpin ")[2].split(",")[0]
    assert named in {short_id(part.id) for part in outputs[:4]}
    session.edit_context("unpin", named)


async def test_a_summariser_that_fails_is_named(tmp_path: Path) -> None:
    policy = policy_with_changes(Policy(), {"recovery.truncations": 0, "prune.rule": "none"})
    harness, _ = make_fit_harness(
        tmp_path,
        *reads(*range(8)),
        says("Well."),
        fails(400, "No summaries today."),
        policy=policy,
        window=60_000,
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    wide = harness.info("scripted/model")
    harness.narrow(wide.model_copy(update={"window": 17_000}))

    refused = await ask(session, "Sure?")

    assert refused.error is not None
    assert "No summaries today." in refused.error.message
    assert refused.stopped_by == "compaction"
    assert refused.text == ""


async def test_cut_results_that_are_not_enough_after_a_failed_summary_say_so(
    tmp_path: Path,
) -> None:
    """Truncated results, tried after a failed summary, freed too little."""
    policy = policy_with_changes(Policy(), {"prune.rule": "none", "compact.max_attempts": 1})
    harness, model = make_fit_harness(
        tmp_path,
        *reads(*range(8)),
        says("Well. " * 9_000).in_pieces(4_000),
        fails(400, "No summaries today."),
        says(SUMMARY),
        policy=policy,
        window=60_000,
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    wide = harness.info("scripted/model")
    harness.narrow(wide.model_copy(update={"window": 16_500}))

    refused = await ask(session, "Sure?")

    assert refused.error is not None
    assert "No summaries today." in refused.error.message
    assert [request.purpose for request in model.requests].count("compaction") == 1


async def test_a_prompt_that_is_longer_than_the_window_is_named(tmp_path: Path) -> None:
    harness, model = make_fit_harness(tmp_path, says("Well."), window=17_000)
    session = await harness.session()

    refused = await ask(session, "Count these birds: " + "tern, auk and gull, " * 6_000)

    assert refused.error is not None
    assert (refused.stopped_by, refused.text, model.requests) == ("window", "", [])
    assert "(window 17,000, the rest is kept for the answer). Nothing was sent." in (
        refused.error.message
    )
    assert "Your prompt alone takes about " in refused.error.message
    assert "shorten it, or choose a model with a larger window with --model." in (
        refused.error.message
    )
    assert "%agent --new" not in refused.error.message


async def test_a_system_prompt_that_fills_the_window_is_named(tmp_path: Path) -> None:
    harness, model = make_fit_harness(tmp_path, says("Well."), window=17_000)
    session = await harness.session()

    refused = await ask(session, "Hello?", system="Be good to the birds of the north. " * 2_500)

    assert refused.error is not None
    assert (refused.stopped_by, refused.text, model.requests) == ("window", "", [])
    assert "The system prompt with its instructions alone takes about " in refused.error.message
    assert refused.error.message.endswith("choose a model with a larger window with --model.")
    assert "%agent --new" not in refused.error.message


async def test_a_conversation_that_fills_the_window_can_begin_anew(tmp_path: Path) -> None:
    policy = policy_with_changes(ALONE, {"recovery.truncations": 0, "prune.rule": "none"})
    harness, model = make_fit_harness(
        tmp_path, *reads(*range(8)), says("Well."), policy=policy, window=60_000
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    sent = len(model.requests)
    wide = harness.info("scripted/model")
    harness.narrow(wide.model_copy(update={"window": 17_000}))

    refused = await ask(session, "Sure?")

    assert refused.error is not None
    assert (refused.stopped_by, refused.text, len(model.requests)) == ("window", "", sent)
    assert "Begin a new session with %agent --new, or choose a model" in refused.error.message
