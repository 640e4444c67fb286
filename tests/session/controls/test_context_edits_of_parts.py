"""Every kind of part can be pinned, excluded and restored by its id, with every provider."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask
from tests.sample_size import thinned
from tests.session.controls.test_context_edits import LONG, SUMMARY, rebuilds, sent
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.operation_text.part_list import part_rows
from palimpsest.model.script import ModelAnswer, says, thinks
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.parts import CompactionPart, FilePart
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.values import ModelInfo, ModelRef

WORDS = {
    "text": "It lists penguins.",
    "reasoning": "The masses are in grams.",
    "tool": "Adelie,3750",
    "file": "notes.png",
}
"""Text of each kind of part that appears nowhere else in a request."""
PICTURE = "data:image/png;base64,iVBORw0KGgo="
TURN = (
    thinks(WORDS["reasoning"], signature=None).calls("read", path="a.csv"),
    says(f"{WORDS['text']} {LONG}"),
)
NEWER = SUMMARY.replace("43.92", "17.15")


async def talked(
    root: Path, *later: ModelAnswer, provider: str = "anthropic", thought: ModelAnswer = TURN[0]
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session with a part of each kind."""
    (root / "a.csv").write_text("species,mass\nAdelie,3750\n")
    model = ScriptedModel(thought, TURN[1], says("Two."), says("Three."), *later)
    info = ModelInfo(
        ref=ModelRef(provider="any", name="test"), window=100_000, output_limit=4_000, vision=True
    )
    harness = SessionHarness(root, model, info=info)
    session = await harness.session()
    await say(session, "Read it", provider)
    prompt = session.snapshot().messages[0]
    picture = FilePart(
        id=harness.services.ids.new("prt"),
        session_id=session.id,
        message_id=prompt.id,
        mime="image/png",
        url=PICTURE,
        filename=WORDS["file"],
    )
    session.log.append(PartUpdated(part=picture))
    return harness, model, session


async def say(session: LiveSession, words: str, provider: str = "anthropic") -> None:
    await ask(session, words, model=f"{provider}/test")


def named(session: LiveSession, kind: str) -> str:
    """Return the id of the part with the text of its kind."""
    parts = [part for message in session.snapshot().messages for part in message.parts]
    [found] = [part.id for part in parts if part.type == kind and WORDS[kind] in str(part)]
    return found


def words(model: ScriptedModel, kind: str) -> bool:
    return (PICTURE if kind == "file" else WORDS[kind]) in sent(model)


@pytest.mark.parametrize("kind", thinned(WORDS, 2))
@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "deepseek"])
async def test_a_part_is_pinned_left_out_and_brought_back(
    tmp_path: Path, kind: str, provider: str
) -> None:
    harness, model, session = await talked(tmp_path, *[says("Well.")] * 4, provider=provider)
    part = named(session, kind)
    await say(session, "Two?", provider)
    before = words(model, kind)

    gone = session.edit_context("exclude", short_id(part))
    await say(session, "Three?", provider)
    without = words(model, kind)
    pinned = session.edit_context("pin", part)
    await say(session, "Four?", provider)
    kept = words(model, kind)
    session.edit_context("unpin", part)
    await say(session, "Five?", provider)

    assert gone.target == pinned.target == part
    # Reasoning without a signature is sent back to one of them only.
    assert before is (kind != "reasoning" or provider == "deepseek")
    assert not without
    assert kept
    assert words(model, kind) is before
    await rebuilds(harness, session, model)


@pytest.mark.parametrize("kind", WORDS)
async def test_a_pinned_part_stands_behind_the_summary(tmp_path: Path, kind: str) -> None:
    harness, model, session = await talked(tmp_path, says(SUMMARY), says("Four."))
    for prompt in ("Two?", "Three?"):
        await say(session, prompt)
    session.edit_context("pin", named(session, kind))

    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await say(session, "Four?")

    assert "know the penguins" in sent(model)
    assert [other for other in WORDS if words(model, other)] == [kind]
    await rebuilds(harness, session, model)


async def test_a_thought_that_is_given_back_anyway_is_not_quoted(tmp_path: Path) -> None:
    signed = thinks(WORDS["reasoning"]).calls("read", path="a.csv")
    harness, model, session = await talked(tmp_path, thought=signed)

    wish = session.edit_context("pin", named(session, "reasoning"))
    await say(session, "Two?")

    assert wish.sentence.startswith("Pinned the thought “The masses are in grams.”")
    assert sent(model).count(WORDS["reasoning"]) == 1
    assert "Kept at the user's request" not in sent(model)
    await rebuilds(harness, session, model)


async def test_a_pinned_message_is_sent_as_before_thoughts_could_be_pinned(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path)

    session.edit_context("pin", session.snapshot().messages[1].id)
    await say(session, "Two?")

    assert WORDS["reasoning"] not in sent(model)


async def compacted(
    root: Path, *later: ModelAnswer
) -> tuple[SessionHarness, ScriptedModel, LiveSession, str]:
    """Return a session with a summary, and the id of its compaction part."""
    harness, model, session = await talked(root, says(SUMMARY), *later)
    for prompt in ("Two?", "Three?"):
        await say(session, prompt)
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    parts = [part for message in session.snapshot().messages for part in message.parts]
    [marker] = [part.id for part in parts if isinstance(part, CompactionPart)]
    return harness, model, session, marker


async def test_a_pinned_summary_stands_word_for_word_behind_the_next(tmp_path: Path) -> None:
    later = (says(f"Four. {LONG}"), says("Five."), says("Six."), says(NEWER), says("Seven."))
    harness, model, session, marker = await compacted(tmp_path, *later)

    wish = session.edit_context("pin", marker)
    for prompt in ("Four?", "Five?", "Six?"):
        await say(session, prompt)
    once = sent(model).count("43.92")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await say(session, "Seven?")

    assert wish.sentence.startswith("Pinned the summary “")
    assert once == SUMMARY.count("43.92") + LONG.count("43.92")
    assert "17.15" in sent(model)
    assert "An earlier summary said:" in sent(model)
    assert "43.92" in sent(model)
    rows = part_rows(session)
    assert [how for _, what, how in rows if what.startswith("the summary")] == [
        "in place of what it covers",
        "pinned, quoted after the newest summary",
    ]
    await rebuilds(harness, session, model)


async def test_a_summary_is_left_out_with_what_it_covers_and_comes_back_before_it_is_undone(
    tmp_path: Path,
) -> None:
    harness, model, session, marker = await compacted(tmp_path, *[says("Well.")] * 3)
    summary = session.edit_context("exclude", marker)
    await say(session, "Four?")
    without = sent(model)
    first = session.edit_context("restore", marker)
    await say(session, "Five?")
    again = sent(model)
    second = session.edit_context("restore", marker)
    await say(session, "Six?")

    assert "and with it what it covers" in summary.sentence
    for gone in ("know the penguins", "What did we do so far?", "Adelie"):
        assert gone not in without
    assert "Three?" in without
    assert "Restored the summary" in first.sentence
    assert "know the penguins" in again
    assert "Adelie" not in again
    assert "undone" in second.sentence
    assert "Adelie" in sent(model)
    await rebuilds(harness, session, model)


async def test_the_word_summary_means_the_one_that_stands(tmp_path: Path) -> None:
    harness, model, session, _ = await compacted(tmp_path, says("Bad."), *[says("Well.")] * 2)
    await say(session, "Four?")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    rows = part_rows(session)

    assert [how for _, what, how in rows if what.startswith("the summary")] == [
        "not used; nothing was cut",
        "in place of what it covers",
    ]
    assert "undone" in session.edit_context("restore", "summary").sentence
    await say(session, "Five?")
    assert "Adelie" in sent(model)
    await rebuilds(harness, session, model)


async def test_what_the_model_is_never_sent_is_said_to_be_so(tmp_path: Path) -> None:
    _, _, session = await talked(tmp_path)
    step = session.snapshot().messages[1].parts[0]

    for action in ("pin", "exclude"):
        with pytest.raises(UserError, match="the model is not sent this step-start"):
            session.edit_context(action, step.id)
