"""The review of a long session is kept in a file beside it, and read again only while it fits."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.review.review_files.recorded_project import LONG, RecordedProject, made_review
from tests.sample_size import thinned

from palimpsest.model.script import says
from palimpsest.public.session_object import open_session
from palimpsest.review.review_files import review_file
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.testing import ScriptedModel, isolated_session
from palimpsest.transcript.timeline import CHARS4
from palimpsest.transcript.values import Price


@pytest.fixture(autouse=True)
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the reviews of short logs, too."""
    monkeypatch.setattr(review_file, "MIN_LOG_BYTES", 0)


@pytest.fixture
def project(tmp_path: Path) -> RecordedProject:
    return RecordedProject(tmp_path)


def test_what_is_read_again_is_what_was_made(tmp_path: Path) -> None:
    project = RecordedProject(tmp_path, LONG)
    made, path = project.kept()

    found = project.load()

    assert found is not None
    assert found.timeline == made.timeline
    assert found.references == made.references
    assert found.timeline.counted_weights == made.timeline.counted_weights
    assert set(found.timeline.counted_weights) >= {"tiktoken/o200k_base"}
    assert [found.timeline.read(index) for index in (0, 5, 200)] == [
        made.timeline.read(index) for index in (0, 5, 200)
    ]
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_no_text_of_an_item_is_in_the_file(tmp_path: Path) -> None:
    project = RecordedProject(tmp_path, LONG)
    made, path = project.kept()
    content = path.read_text()
    texts = [made.timeline.read(item.index) for item in made.timeline.items]

    long = [text for text in texts if len(text) > 500]
    assert len(long) > 100
    assert not any(json.dumps(text[200:400])[1:-1] in content for text in long)


def log_of(project: RecordedProject) -> Path:
    return max(project.store.layout.session(project.session).glob("log-*.jsonl"))


def test_a_log_that_grew_is_read_anew_and_its_file_replaced(project: RecordedProject) -> None:
    _, before = project.kept()
    lines = log_of(project).read_text().splitlines()
    last = json.loads(next(line for line in reversed(lines) if '"message.updated"' in line))
    with log_of(project).open("a") as file:
        file.write(json.dumps(last | {"seq": json.loads(lines[-1])["seq"] + 1}) + "\n")

    assert project.load() is None
    _, after = project.kept()

    assert after != before
    assert [*project.folder.iterdir()] == [after]
    assert project.load() is not None


def test_what_opening_a_session_writes_into_its_log_makes_no_other_file(
    project: RecordedProject,
) -> None:
    _, path = project.kept()
    with log_of(project).open("a") as file:
        file.write('{"v":1,"seq":999999,"ts":1,"type":"session.status","status":{"type":"idle"}}\n')

    assert project.file().path == path
    assert project.load() is not None


def test_more_that_is_known_later_is_added(project: RecordedProject) -> None:
    made, file = made_review(), project.file()
    file.store_review(made.timeline, None)
    first = project.load()
    assert first is not None
    assert first.references is None

    file.store_review(made.timeline, made.references)
    second = project.load()

    assert second is not None
    assert second.references == made.references


def test_a_file_that_has_all_of_it_is_not_written_again(project: RecordedProject) -> None:
    _, path = project.kept()
    inode = path.stat().st_ino
    file = project.file()
    found = file.load(None)
    assert found is not None

    found.timeline.weights(CHARS4)
    file.store_review(found.timeline, found.references)

    assert path.stat().st_ino == inode


def test_a_price_that_changed_makes_it_anew(project: RecordedProject) -> None:
    project.kept()
    project.price = Price(input=6, output=30)

    assert project.load() is None


DAMAGES: dict[str, tuple[str, Any]] = {
    "another session": ("timeline session", "ses_other"),
    "another version": ("made_by", "0"),
    "an older timeline": ("timeline version", 0),
    "no timeline": ("timeline", None),
    "a list of items": ("timeline items", [1]),
    "a column more": ("timeline items more", []),
    "a column that is shorter": ("timeline items kind", ["call"]),
    "a number as a text": ("timeline items chars 3", "9"),
    "a truth as a number": ("timeline items chars 3", True),
    "a huge number": ("timeline items chars 3", 10**400),
    "a negative size": ("timeline items chars 3", -1),
    "an unknown word": ("timeline items text 3", "seen"),
    "a huge text": ("timeline items label 3", "x" * 1_000_000),
    "an item twice": ("timeline items index 3", 2),
    "an item that is not there": ("timeline items covers 3", [99_999]),
    "a place that is not there": ("timeline items before 3", 99_999),
    "an answer outside": ("timeline requests answer 3", [5, 99_999]),
    "an answer that ends before it begins": ("timeline requests answer 3", [5, 4]),
    "more items than there are": ("timeline requests items -1", 99_999),
    "usage of two numbers": ("timeline requests usage 3", [1, True]),
    "infinite cost": ("timeline requests cost 3", float("inf")),
    "a price that is a number": ("timeline requests price 3", 7),
    "a negative usage": ("timeline requests usage 3 input", -1),
    "a usage as a text": ("timeline requests usage 3 input", "9"),
    "an unknown service tier": ("timeline requests usage 3 service_tier", "free"),
    "subagents in a list": ("timeline subagents", ["call"]),
    "a subagent by a number": ("timeline subagents", {"call": 7}),
    "a blob by a path": ("blobs x", "../../../etc/passwd"),
    "a weight less": ("weights tiktoken/o200k_base", [1]),
    "a weight below none": ("weights tiktoken/o200k_base 3", -5),
    "a name without holders": ("references names", ["a"]),
    "a holder that is not there": ("references holders 0", [99_999]),
    "holders in another order": ("references holders 0", [5, 4]),
    "a use that is not there": ("references uses 0", 99_999),
    "a use before its name": ("references holders 0", []),
    "uses in another order": ("references requests 0", 5),
}
"""What is otherwise, as the path to a value and another value."""


@pytest.mark.parametrize("damage", thinned(DAMAGES, 3))
def test_a_file_that_is_otherwise_than_written_is_passed_over_and_replaced(
    project: RecordedProject, damage: str
) -> None:
    _, path = project.kept()
    value = json.loads(path.read_text())
    place, damaged_value = DAMAGES[damage]
    *path_to_value, last = [
        int(word) if word.lstrip("-").isdigit() else word for word in place.split()
    ]
    container = value
    for step in path_to_value:
        container = container[step]
    container[last] = damaged_value
    path.write_text(json.dumps(value))

    assert project.load() is None
    project.kept()
    assert project.load() is not None


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"\xff\xfe", b"{" * 200_000, b"[" * 200_000, b'{"made_by": NaN'],
    ids=["empty", "null", "list", "no text", "objects in objects", "lists in lists", "cut"],
)
def test_what_is_no_such_file_is_passed_over(project: RecordedProject, content: bytes) -> None:
    path = project.file().path
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    assert project.load() is None


def test_a_file_that_is_too_large_is_not_read(
    project: RecordedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.kept()
    assert project.load() is not None

    monkeypatch.setattr(review_file, "MAX_FILE_BYTES", 1_000)

    assert project.load() is None


@pytest.mark.parametrize("kind", ["file", "session", "review"])
def test_nothing_is_read_or_written_through_a_link(
    project: RecordedProject, tmp_path: Path, kind: str
) -> None:
    _, path = project.kept()
    place = {"file": path, "session": path.parent, "review": path.parent.parent}[kind]
    outside = tmp_path / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    before = sorted(file.name for file in tmp_path.rglob("*"))
    content = outside.read_bytes() if kind == "file" else b""

    assert project.load() is None
    project.kept()

    if kind == "file":
        assert outside.read_bytes() == content
        assert not path.is_symlink()
    else:
        assert project.load() is None
        assert sorted(file.name for file in tmp_path.rglob("*")) == before


def test_a_pipe_in_its_place_holds_nothing_up(project: RecordedProject) -> None:
    path = project.file().path
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    assert project.load() is None


def test_where_nothing_can_be_written_nothing_is_kept(project: RecordedProject) -> None:
    (project.root / ".palimpsest" / "review").write_text("no folder")

    project.kept()

    assert project.load() is None


def test_the_oldest_files_go_when_there_are_too_many(
    project: RecordedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, older, gone = ("ses_old", "ses_older", "ses_gone")
    for name, age in ((old, 100), (older, 200), (gone, 1)):
        file = project.folder.parent / name / "0.1"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * 60_000)
        os.utime(file, (age and 10**9 - age,) * 2)
    for name in (old, older):
        project.store.layout.session(name).mkdir()
    (project.folder.parent / "abc.rows").write_text("of the corpus")
    monkeypatch.setattr(review_file, "MAX_FOLDER_BYTES", 100_000)

    _, path = project.kept()

    left = {
        str(path.relative_to(project.folder.parent)) for path in project.folder.parent.rglob("*.*")
    }
    assert left == {f"{project.session}/{path.name}", "ses_old/0.1", "abc.rows"}
    assert not (project.folder.parent / gone).exists()


def test_a_deleted_session_leaves_no_file(project: RecordedProject) -> None:
    project.kept()
    assert project.folder.is_dir()

    project.store.delete(project.session)

    assert not project.folder.exists()


def test_a_session_in_memory_and_a_short_one_have_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert review_file.review_file(MemoryStore(), "ses_1", lambda _model: None) is None
    with isolated_session(ScriptedModel(says("Well.")), folder=tmp_path) as session:
        session.prompt("Hello")
        assert len(session.review.requests.rows) == 1

    assert not (tmp_path / ".palimpsest" / "review").exists()


def test_a_sessions_review_is_read_from_its_file_by_the_next_kernel(
    tmp_path: Path,
) -> None:
    with isolated_session(ScriptedModel(says("Use pandas.read_csv.")), folder=tmp_path) as session:
        session.prompt("How is data/penguins.csv read?")
        first = session.compare(["raw", "sweagent.last_n n=1"], price="units").table
        (path,) = (tmp_path / ".palimpsest" / "review" / session.id).iterdir()
        value = json.loads(path.read_text())
        session_id = session.id

    # What is shown next comes from the file.
    value["timeline"]["title"] = "A title that only the file has"
    path.write_text(json.dumps(value))
    with isolated_session(ScriptedModel(), folder=tmp_path) as session:
        review = open_session(session._app, session_id).review
        again = review.compare(["raw", "sweagent.last_n n=1"], price="units").table

    assert review.timeline.title == "A title that only the file has"
    assert again.rows == first.rows
