"""A recording is opened for review without a kernel, and nothing of that stays on the disk."""

import gc
import json
import tempfile
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample

import palimpsest
from palimpsest.review.recorded_sessions import recording as opened
from palimpsest.transcript.errors import NotFound, UserError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary folders are made."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no recording fit into memory."""
    monkeypatch.setattr(opened, "MAX_MEMORY_BYTES", 10_000)


@pytest.mark.slow
@pytest.mark.usefixtures("on_disk")
def test_the_sessions_of_a_recording_are_reviews(tmp_path: Path, temporary: Path) -> None:
    path = sample("pi_large_session.jsonl", tmp_path)

    with palimpsest.open_recording(path) as recording:
        review = recording[0]

        assert len(recording) == 1
        assert len(review.timeline.requests) == 453
        assert len(review.breaks()) == 37
        assert review.breaks().cost == pytest.approx(14.21, abs=0.01)
        assert review.timeline.read(0) != ""
        assert review.price("openai/gpt-4o").unit == "USD"
        assert [file.stat().st_mode & 0o777 for file in temporary.iterdir()] == [0o700]

    assert list(temporary.iterdir()) == []


@pytest.mark.soak  # with each commit what cannot be read leaves nothing, below; this adds a recording that was read
@pytest.mark.usefixtures("on_disk")
def test_the_temporary_folder_goes_with_the_last_review(tmp_path: Path, temporary: Path) -> None:
    review = palimpsest.open_recording(sample("codex_rollout.jsonl", tmp_path))[0]
    gc.collect()
    assert review.timeline.read(0) != ""
    assert len(list(temporary.iterdir())) == 1

    del review
    gc.collect()

    assert list(temporary.iterdir()) == []


def test_a_recording_that_fits_is_opened_in_memory(tmp_path: Path, temporary: Path) -> None:
    review = palimpsest.open_recording(sample("codex_rollout.jsonl", tmp_path))[0]

    assert review.timeline.read(0) != ""
    assert list(temporary.iterdir()) == []


def test_a_recording_is_the_same_in_memory_and_on_the_disk(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample("codex_rollout.jsonl", tmp_path)
    in_memory = palimpsest.open_recording(path)[0]
    monkeypatch.setattr(opened, "MAX_MEMORY_BYTES", 10_000)

    on_disk = palimpsest.open_recording(path)[0]

    assert len(list(temporary.iterdir())) == 1
    assert on_disk.timeline == in_memory.timeline
    assert [on_disk.timeline.read(item.index) for item in on_disk.timeline.items] == [
        in_memory.timeline.read(item.index) for item in in_memory.timeline.items
    ]
    assert (on_disk.requests.text, on_disk.wastes().text) == (
        in_memory.requests.text,
        in_memory.wastes().text,
    )


def test_a_small_file_whose_values_are_large_is_opened_on_the_disk(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"role": role, "content": "yes"} for role in ("user", "assistant") * 50]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": lines}))
    monkeypatch.setattr(opened, "MAX_MEMORY_BYTES", 3 * path.stat().st_size + 1)

    review = palimpsest.open_recording(path)[0]

    assert len(list(temporary.iterdir())) == 1
    assert len(review.timeline.requests) == 50


@pytest.mark.usefixtures("on_disk")
def test_what_cannot_be_read_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")

    with pytest.raises(UserError, match="holds no session"):
        palimpsest.open_recording(tmp_path / "notes.json")

    assert list(temporary.iterdir()) == []


def test_a_session_is_had_by_its_id(tmp_path: Path) -> None:
    recording = palimpsest.open_recording(sample("codex_rollout.jsonl", tmp_path))

    assert recording[recording.ids[0]].timeline.session == recording.ids[0]
    with pytest.raises(NotFound, match="has no session 'ses_0'"):
        recording["ses_0"]


def test_a_projects_folder_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "p" / ".palimpsest").mkdir(parents=True)
    (tmp_path / "p" / ".palimpsest" / "sessions").symlink_to(tmp_path / "secret")

    with pytest.raises(UserError, match="holds no session"):
        palimpsest.open_recording(tmp_path / "p")


def test_two_recordings_are_compared_by_path_or_review(tmp_path: Path) -> None:
    codex = sample("codex_rollout.jsonl", tmp_path)
    swe = sample("marshmallow-1867.traj", tmp_path)

    compared = palimpsest.compare_sessions(palimpsest.open_recording(codex)[0], swe, price="units")

    rows = {row["figure"]: row for row in compared.table.records()}
    assert (rows["requests"]["first"], rows["requests"]["second"]) == ("6", "13")
    assert rows["input tokens"]["first"] == "160,333"
    assert rows["calls of bash"]["second"] == "6"
    assert "reported no usage" in compared.text
