"""An inspector's kernel compares the session that a page shows with another one, and says in a sentence why it cannot."""

import shutil
from pathlib import Path

import pytest
from tests.review.comparison.one_task import write_both

from palimpsest.frontends.inspector.inspections import Inspections
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.timeline_view.view_queries import AskComparison, AskView, ViewAnswer
from palimpsest.store.log.memory_store import MemoryStore


def opened_in(folder: Path) -> Inspections:
    return Inspections(MemoryStore(), lambda _id: None, offline_price, folder)


async def asked(folder: Path, path: str | None, session: str = "") -> ViewAnswer:
    """Compare the first of two made recordings with another one."""
    first, _ = write_both(folder)
    query = AskComparison(path=path, session=session)
    return await opened_in(folder).answer_recording(first.name, "", query)


async def test_two_recordings_are_compared_and_nothing_is_sent_twice(tmp_path: Path) -> None:
    first, second = write_both(tmp_path)
    inspections = opened_in(tmp_path)
    query = AskComparison(path=second.name, price="units")

    answer = await inspections.answer_recording(first.name, "", query)
    compared = answer.comparison
    assert compared is not None
    again = await inspections.answer_recording(
        first.name, "", query.model_copy(update={"known": compared.stamp})
    )
    other_price = await inspections.answer_recording(
        first.name, "", query.model_copy(update={"known": compared.stamp, "price": None})
    )
    view = (await inspections.answer_recording(first.name, "", AskView())).view

    assert view is not None
    assert (compared.shared, compared.unit) == (2, "units")
    assert compared.first.session == view.session
    assert compared.second.session != view.session
    assert again.unchanged
    assert again.comparison is None
    assert other_price.comparison is not None
    assert other_price.comparison.stamp != compared.stamp


async def test_a_recording_that_grew_is_compared_again(tmp_path: Path) -> None:
    first, second = write_both(tmp_path)
    whole = second.read_text("utf-8").splitlines(keepends=True)
    second.write_text("".join(whole[:-4]), "utf-8")
    inspections = opened_in(tmp_path)
    query = AskComparison(path=second.name)
    before = (await inspections.answer_recording(first.name, "", query)).comparison
    assert before is not None

    second.write_text("".join(whole), "utf-8")
    known = query.model_copy(update={"known": before.stamp})
    after = (await inspections.answer_recording(first.name, "", known)).comparison

    assert after is not None
    assert len(after.second.tokens) > len(before.second.tokens)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mended.jsonl", "This is the session itself; choose another one to compare it with."),
        ("./mended.jsonl", "This is the session itself; choose another one to compare it with."),
        ("gone.jsonl", "There is no '"),
        ("notes.txt", "holds no session that can be imported"),
    ],
)
async def test_what_cannot_be_compared_is_one_sentence(
    tmp_path: Path, name: str, sentence: str
) -> None:
    (tmp_path / "notes.txt").write_text("Only words.\n", "utf-8")

    answer = await asked(tmp_path, name)

    assert answer.comparison is None
    assert sentence in answer.error
    assert "\n" not in answer.error


async def test_a_copy_under_another_name_is_another_recording(tmp_path: Path) -> None:
    first, _ = write_both(tmp_path)
    shutil.copyfile(first, tmp_path / "copy.jsonl")

    answer = await opened_in(tmp_path).answer_recording(
        first.name, "", AskComparison(path="copy.jsonl")
    )

    assert answer.comparison is not None
    assert answer.comparison.second.parting is None


async def test_a_session_that_is_not_in_the_project_is_one_sentence(tmp_path: Path) -> None:
    answer = await asked(tmp_path, None, "ses_gone")

    assert answer.comparison is None
    assert "ses_gone" in answer.error
