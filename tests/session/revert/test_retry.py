"""A turn is tried again: it and what follows is reverted, and its prompt is sent again with what was chosen for it."""

import base64
from pathlib import Path

import pytest
from tests.harness.session import ask
from tests.session.revert.test_revert import files, three_turns, words

from palimpsest.session.interfaces.prompt_answer import TurnToRetry
from palimpsest.session.prompts.repeated_prompt import prompt_at, repeated_prompt
from palimpsest.transcript.errors import ConfigError, UserError
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import Attachment

PICTURE = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


async def test_it_takes_the_place_of_the_turn_and_of_what_follows(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    second = session.snapshot().messages[3]
    assert words(session)[2] == "two?"

    answer = await session.retry(TurnToRetry(second.id))

    assert answer.text == "Fourth."
    assert words(session) == ["one?", "First.", "two?", "Fourth."]
    assert files(tmp_path) == {
        "a.txt": "two\n"
    }  # b.txt was the second turn's, the third's change went too


async def test_a_part_of_an_answer_names_its_turn_and_nothing_names_the_newest(
    tmp_path: Path,
) -> None:
    _, session = await three_turns(tmp_path)
    answer = session.snapshot().messages[-1]

    await session.retry(TurnToRetry(answer.parts[1].id))
    assert words(session)[-2:] == ["three?", "Fourth."]
    await session.retry(TurnToRetry(mode="plan"))

    assert words(session)[-2:] == ["three?", "Fifth."]
    assert session.control.mode == "plan"


async def test_a_file_that_a_person_changed_stays_unless_it_is_named(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    (tmp_path / "a.txt").write_text("mine\n")

    await session.retry(TurnToRetry("last"))
    assert (tmp_path / "a.txt").read_text() == "mine\n"

    other = tmp_path / "other"
    other.mkdir()
    _, session = await three_turns(other)
    (other / "a.txt").write_text("mine\n")
    await session.retry(TurnToRetry("last", overwrite=("a.txt",)))
    assert (other / "a.txt").read_text() == "two\n"


async def test_what_was_reverted_by_hand_is_not_reverted_again(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    third = next(
        message for message in session.snapshot().messages[::-1] if message.info.role == "user"
    )
    await session.reverts.revert()
    (tmp_path / "a.txt").write_text("mine since\n")

    answer = await session.retry(TurnToRetry(third.id))

    assert answer.text == "Fourth."
    assert (tmp_path / "a.txt").read_text() == "mine since\n"


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (TurnToRetry("last", model="nosuch"), "There is no model"),
        (TurnToRetry("last", mode="nosuch"), "nosuch"),
        (TurnToRetry("msg_nosuch"), "msg_nosuch"),
    ],
)
async def test_what_is_refused_reverts_nothing(tmp_path: Path, turn: TurnToRetry, why: str) -> None:
    _, session = await three_turns(tmp_path)
    before = session.snapshot().messages

    with pytest.raises((ConfigError, UserError), match=why):
        await session.retry(turn)

    assert session.snapshot().messages == before
    assert files(tmp_path) == {"a.txt": "three\nfour\n", "b.txt": "new\n"}


async def test_what_was_chosen_for_the_prompt_goes_along(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    file = Attachment(mime="image/png", filename="a.png", url=PICTURE)
    chosen = {"system": "Be brief.", "tools": ("read",), "max_steps": 3, "agent": "plan"}
    await ask(session, "Look at @a.txt", files=(file,), model="scripted/other", **chosen)
    before = session.snapshot().messages[-2]
    assert isinstance(before.info, UserMessage)

    text, options = repeated_prompt(before)
    await session.retry(TurnToRetry("last"))

    assert text == "Look at @a.txt"
    assert [attached.filename for attached in options.files] == [
        "a.png"
    ]  # the mention brings its own again
    after = session.snapshot().messages[-2]
    kept = ("system", "tools", "max_steps", "agent", "model")
    assert isinstance(after.info, UserMessage)
    assert after.id != before.id
    assert [getattr(after.info, field) for field in kept] == [
        getattr(before.info, field) for field in kept
    ]
    assert [part.type for part in after.parts] == [part.type for part in before.parts]


async def test_another_model_answers(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)

    await session.retry(TurnToRetry(model="scripted/other"))

    assert session.snapshot().messages[-1].info.model.id == "scripted/other"  # type: ignore[union-attr]


async def test_where_nobody_asked_nothing_is_sent_again(tmp_path: Path) -> None:
    _, session = await three_turns(tmp_path)
    answers = tuple(
        message for message in session.snapshot().messages if message.info.role == "assistant"
    )

    with pytest.raises(UserError, match="nothing can be sent again"):
        prompt_at(answers, answers[-1].id)
    with pytest.raises(UserError, match="nothing can be sent again"):
        repeated_prompt(answers[-1])
