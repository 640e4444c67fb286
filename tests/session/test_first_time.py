"""The notice about what a prompt sends is shown once for each project and provider."""

from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.app import first_request_notice
from palimpsest.app.first_request_notice import FirstRequestNotice
from palimpsest.model.script import says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.user_notices import user_notice_text


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_request_notice, "_SHOWN_HASHES", set())


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_request_notice, "_SHOWN_HASHES", set())


def test_it_is_said_once_for_a_project_and_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    kept = tmp_path / "state" / "told"

    first = FirstRequestNotice(here, "names and types", kept).notice_text("anthropic")
    again = FirstRequestNotice(here, "names and types", kept).notice_text("anthropic")
    another_process(monkeypatch)
    later = FirstRequestNotice(here, "names and types", kept).notice_text("anthropic")

    assert "anthropic" in first
    assert "names and types" in first
    assert len(first) < 400, "one line"
    assert again == later == ""
    assert FirstRequestNotice(here, "names and types", kept).notice_text("openai") != ""
    assert FirstRequestNotice(there, "names and types", kept).notice_text("anthropic") != ""
    assert FirstRequestNotice(here, "values", kept).notice_text("anthropic") != "", (
        "more goes along now"
    )


def test_what_sends_nothing_is_not_told_of(tmp_path: Path) -> None:
    assert FirstRequestNotice(tmp_path, "values", tmp_path / "told").notice_text("rehearsal") == ""


def test_where_nothing_can_be_kept_it_is_said_once_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    kept = tmp_path / "file" / "told"

    assert FirstRequestNotice(tmp_path, "names", kept).notice_text("openai") != ""
    assert FirstRequestNotice(tmp_path, "names", kept).notice_text("openai") == ""
    another_process(monkeypatch)
    assert FirstRequestNotice(tmp_path, "names", kept).notice_text("openai") != ""


def test_what_was_said_is_not_kept_inside_the_project(tmp_path: Path) -> None:
    assert (
        FirstRequestNotice(tmp_path, "names", tmp_path / "state" / "told").notice_text("openai")
        != ""
    )

    assert not (tmp_path / "state").exists()


async def test_it_stands_before_the_first_answer_and_is_not_sent(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    model = ScriptedModel(says("One."), says("Two."))
    told = FirstRequestNotice(project, "names", tmp_path / "told")
    harness = SessionHarness(project, model, first_time=lambda _: told.notice_text("openai"))
    session = await harness.session()

    first = await ask(session, "hello")
    second = await ask(session, "again")

    notices = [
        [user_notice_text(part) for part in summary.messages[0].parts]
        for summary in (first, second)
    ]
    assert "openai" in str(notices[0][0])
    assert notices[1] == [None] * len(notices[1])
    assert "From this project" not in str([request.messages for request in model.requests])
