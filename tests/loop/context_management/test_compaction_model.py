"""A summary is written by the model and with the instructions that the settings name for it."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import (
    DEFAULT,
    INFO,
    LONG,
    SUMMARY,
    assert_rebuilt,
    by_purpose,
    summaries,
    with_compact,
)
from tests.harness.session import SessionHarness, ask, requested
from tests.sample_size import thinned

from palimpsest.app.loaded_config import load, trust_project
from palimpsest.model.script import ModelAnswer, fails, overflows, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedAnswer, ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ApiError, ConfigError, ContextOverflowError
from palimpsest.transcript.parts import RetryPart
from palimpsest.transcript.values import ModelInfo, ModelRef

WRITER = ModelInfo(
    ref=ModelRef(provider="scripted", name="writer"), window=6_000, output_limit=1_000
)
NAMED = with_compact(model="scripted/writer")


async def two_models(
    root: Path,
    writes: ScriptedModel,
    *answers: ScriptedAnswer,
    policy: Policy = NAMED,
    writer: ModelInfo = WRITER,
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session whose window is nearly full, with another model for its summaries."""
    works = ScriptedModel(says(LONG), says(LONG), *answers)
    harness = SessionHarness(root, works, info=INFO)

    def info(name: str, variant: str | None = None) -> ModelInfo:
        if name.endswith("nobody"):
            raise ConfigError(f"There is no model {name!r}.")
        return writer if name == writer.ref.id else harness.info(name, variant)

    models: dict[str, Any] = {"writer": writes}
    object.__setattr__(harness.services.rules, "policy", policy)
    object.__setattr__(harness.services.models, "info", info)
    object.__setattr__(
        harness.services.models, "model", lambda one: models.get(one.ref.name, works)
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    return harness, works, session


def notices(session: LiveSession) -> list[str]:
    return [
        part.error.message
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, RetryPart)
    ]


async def summarise(session: LiveSession) -> Any:
    return await ask(session, "What was the mean? " + "word " * 1_600)


async def test_the_model_that_is_named_for_summaries_writes_them(tmp_path: Path) -> None:
    writes = ScriptedModel(says(SUMMARY), says(SUMMARY))
    harness, works, session = await two_models(tmp_path, writes, says("It is 43.92."))

    answer = await summarise(session)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    assert [request.purpose for request in works.requests] == ["step"] * 3
    # The writer's window is smaller, so it needs two requests where the session's model needs one.
    assert [request.purpose for request in writes.requests] == ["compaction"] * 2
    [summary] = summaries(session.snapshot().messages)
    assert summary.model == WRITER.ref
    assert notices(session) == []
    asked = [event.request for event in requested(await harness.records(session))]
    assert [request.facts.window for request in asked if request.purpose == "compaction"] == [
        6_000
    ] * 2
    await assert_rebuilt(harness, session, works, writes)


async def test_the_cost_of_a_summary_counts_for_the_session(tmp_path: Path) -> None:
    writes = ScriptedModel(says(SUMMARY), says(SUMMARY))
    _, _, session = await two_models(tmp_path, writes, says("It is 43.92."))
    before = session.snapshot().session
    assert before is not None

    answer = await summarise(session)

    after = session.snapshot().session
    assert after is not None
    added = after.tokens.input - before.tokens.input
    assert added == answer.usage.input
    assert added > sum(len(str(request.messages)) for request in writes.requests) // 8


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    thinned(
        [
            ("scripted/nobody", says("Never sent."), "There is no model 'scripted/nobody'."),
            ("scripted/writer", fails(401, "No key."), "SCRIPTED_API_KEY"),
            ("scripted/writer", fails(404, "No such model."), "No such model."),
            ("scripted/writer", fails(400, "This key is for other models."), "for other models."),
        ],
        3,
    ),
)
async def test_a_model_that_cannot_be_used_is_told_once_and_the_sessions_own_writes(
    tmp_path: Path, name: str, fault: ModelAnswer, words: str
) -> None:
    writes = ScriptedModel(fault)
    harness, works, session = await two_models(
        tmp_path,
        writes,
        *[by_purpose] * 4,
        policy=with_compact(model=name),
        writer=WRITER.model_copy(update={"window": 8_000}),
    )

    answer = await summarise(session)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    *compactions, step = [request.purpose for request in works.requests][2:]
    assert set(compactions) == {"compaction"}
    assert step == "step"
    [notice] = notices(session)
    assert notice.startswith(f"{name} cannot write this summary, so the session's model does: ")
    assert words in notice
    [summary] = summaries(session.snapshot().messages)
    assert (summary.model.name, summary.error) == ("model", None)
    models = (works, writes) if writes.requests else (works,)
    await assert_rebuilt(harness, session, *models)


async def test_a_model_with_too_small_a_window_is_not_asked(tmp_path: Path) -> None:
    writes = ScriptedModel()
    _, _, session = await two_models(
        tmp_path,
        writes,
        says(SUMMARY),
        says("It is 43.92."),
        writer=WRITER.model_copy(update={"window": 3_000}),
    )

    answer = await summarise(session)

    assert answer.error is None
    assert writes.requests == []
    [notice] = notices(session)
    assert "3,000" in notice


async def test_a_key_that_ends_between_two_parts_costs_no_words(tmp_path: Path) -> None:
    writes = ScriptedModel(says(SUMMARY + "- half of it"), fails(401, "The key has expired."))
    harness, works, session = await two_models(tmp_path, writes, *[by_purpose] * 5)

    answer = await summarise(session)

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    assert len(writes.requests) == 2
    assert len(notices(session)) == 1
    # The session's model starts again, and the other's text stays as a draft.
    told = [str(request.messages[-1]["content"]) for request in works.requests[2:]]
    assert "First question" in told[0]
    assert not any("half of it" in text for text in told)
    await assert_rebuilt(harness, session, works, writes)


@pytest.mark.slow
async def test_a_model_that_is_only_busy_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palimpsest.model.errors.retry.FIRST_DELAY_SECONDS", 0.001)
    monkeypatch.setattr("palimpsest.model.errors.retry.MAX_DELAY_SECONDS", 0.001)
    writes = ScriptedModel(*[fails(503, "Busy.")] * 8)
    _, works, session = await two_models(
        tmp_path, writes, writer=WRITER.model_copy(update={"window": 8_000})
    )

    answer = await summarise(session)

    assert isinstance(answer.error, ApiError)
    assert len(works.requests) == 2


async def test_what_another_model_could_not_do_either_is_an_error(tmp_path: Path) -> None:
    writes = ScriptedModel(overflows())
    _, works, session = await two_models(
        tmp_path, writes, writer=WRITER.model_copy(update={"window": 8_000})
    )

    answer = await summarise(session)

    assert isinstance(answer.error, ContextOverflowError)
    assert len(works.requests) == 2


async def test_own_words_for_a_summary_take_the_place_of_ours(tmp_path: Path) -> None:
    own = "Write a haiku about each variable, then list the open questions."
    works = ScriptedModel(says(LONG), says(LONG), says(SUMMARY), says("Done."))
    harness = SessionHarness(tmp_path, works, info=INFO)
    object.__setattr__(harness.services.rules, "policy", with_compact(DEFAULT, prompt=own))
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")

    await session.compact("the means")

    asked = str(works.requests[2].messages[-1]["content"])
    assert own in asked
    assert "<template>" not in asked
    assert "keeps this above all: the means" in asked
    assert "<conversation>" in asked
    await assert_rebuilt(harness, session, works)


async def test_the_settings_name_both(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text(
        '[compaction]\nmodel = "anthropic/claude-haiku-4-5"\nprompt = "Be brief."\n'
    )

    trust_project(tmp_path, {})
    compact = load(tmp_path, {}).policy.policy.compact

    assert (compact.model, compact.prompt) == ("anthropic/claude-haiku-4-5", "Be brief.")
