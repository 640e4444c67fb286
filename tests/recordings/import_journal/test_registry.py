"""The importer of a source is found by its content, and a folder is looked through."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.recordings.formats.imported import dialogue, import_file, now
from tests.recordings.formats.sample_files import sample
from tests.recordings.import_journal.recordings import BEGIN, ListedValuesImporter, user
from tests.sample_size import thinned
from tests.store.foreign_sessions import sample as opencode_sample

import palimpsest
from palimpsest.recordings.formats.built_in import BUILT_IN, IMPORTER_CLASSES, REGISTRY
from palimpsest.recordings.import_journal.folder_search import COMPRESSED_SENTENCE
from palimpsest.recordings.import_journal.registry import ImporterRegistry, installed_importers
from palimpsest.recordings.reading.importer import Importer
from palimpsest.recordings.reading.sources import head_of
from palimpsest.store.exchange.json_export import export_json
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import NotFound, UserError

DATABASE = Path(__file__).parents[2] / "store" / "exchange" / "opencode_database.tar.xz"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pi_large_session.jsonl", "pi"),
        ("claude_code/compaction_session.jsonl", "claude-code"),
        ("codex_rollout.jsonl", "codex"),
        ("printed/claude.jsonl", "claude-code"),
        ("printed/claude_list.json", "claude-code"),
        ("printed/claude_failed.jsonl", "claude-code"),
        ("printed/codex.jsonl", "codex"),
        ("printed/claude_result.json", "claude-code"),
        ("printed/codex_42.jsonl", "codex"),
        ("printed/codex_39.jsonl", "codex"),
        ("printed/codex_20.jsonl", "codex"),
        ("printed/gemini.jsonl", "gemini-cli"),
        ("printed/gemini.json", "gemini-cli"),
        ("printed/gemini_session.jsonl", "gemini-cli"),
        ("kimi_cli/84d6340d-a2ab-4b23-80e9-9055e61f92da/wire.jsonl", "kimi-cli"),
        ("aider.chat.history.md", "aider"),
        ("openai_chat_pairs.json", "openai-chat"),
    ],
)
def test_a_recording_is_recognised_under_any_name(tmp_path: Path, name: str, expected: str) -> None:
    path = sample(name, tmp_path).rename(tmp_path / "recording.txt")

    importer = REGISTRY.recognise(path)

    assert importer is not None
    assert importer.name == expected
    recognising = [known.name for known in BUILT_IN if known.recognises(head_of(path))]
    assert recognising == [expected], "no two importers take the same file for theirs"


@pytest.mark.slow
def test_no_importer_is_imported_behind_the_one_that_recognises_a_recording(
    tmp_path: Path,
) -> None:
    path = sample("codex_rollout.jsonl", tmp_path)
    code = (
        "import sys\n"
        "from palimpsest.review.recorded_sessions.recording import open_recording\n"
        f"print(open_recording({str(path)!r}).ids)\n"
        "print(*[name for name in sys.modules if name.startswith('palimpsest.recordings.')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = [f"palimpsest.recordings.{name.rpartition('.')[0]}" for name in IMPORTER_CLASSES]

    assert {*modules} & {*ran.stdout.split()} == {*modules[:2]}


def test_the_built_in_importers_are_made_once_each() -> None:
    importers = [*BUILT_IN]

    assert len(importers) == len(IMPORTER_CLASSES)
    assert all(known is again for known, again in zip(importers, BUILT_IN, strict=True))


def test_a_storage_folder_and_an_export_are_opencodes(tmp_path: Path) -> None:
    storage = opencode_sample("opencode_storage", tmp_path)
    store, report = import_file(storage)
    export = tmp_path / "session.json"
    session = "ses_11111111aaaaMockOpenCode01"
    export.write_text("".join(export_json(store, session, lambda value: value)))

    again = REGISTRY.import_from(store, export, now)

    assert {imported.outcome for imported in report.sessions} == {"new"}
    assert [(imported.id, imported.outcome, imported.read_only) for imported in again.sessions] == [
        (session, "same", False)
    ]


def test_of_opencodes_own_folder_the_database_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "opencode"
    with tarfile.open(DATABASE) as tar:
        tar.extractall(folder, filter="data")
    (folder / "export.json").unlink()
    opencode_sample("opencode_storage", folder).rename(folder / "storage")

    _, report = import_file(folder)

    assert [(session.id, session.outcome) for session in report.sessions] == [
        ("ses_11111111aaaaMockOpenCode01", "new")
    ]


def test_what_nothing_recognises_is_refused_with_the_known_formats(tmp_path: Path) -> None:
    other = tmp_path / "notes.json"
    other.write_text('{"a": 1}')
    (tmp_path / "empty").mkdir()

    for path in (other, tmp_path / "empty"):
        with pytest.raises(UserError, match=r"what can be: pi, Codex, Claude Code") as refused:
            import_file(path)
        assert str(refused.value).count(". ") == 0
    with pytest.raises(NotFound):
        import_file(tmp_path / "nothing")


def test_a_folder_brings_all_its_recordings_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    sample("pi_large_session.jsonl", outside)
    folder = tmp_path / "recordings"
    (folder / "2026" / "03").mkdir(parents=True)
    sample("codex_rollout.jsonl", folder / "2026" / "03")
    sample("claude_code/compaction_session.jsonl", folder)
    (folder / "notes.json").write_text("{}")
    (folder / "link.jsonl").symlink_to(outside / "pi_large_session.jsonl")
    (folder / "linked").symlink_to(outside)

    _, report = import_file(folder)

    assert min(session.title[:12] for session in report.sessions) == "Start a long"
    assert len(report.sessions) == 2
    assert [problem.where for problem in report.problems] == ["notes.json"]


def test_importers_of_others_are_asked_last_and_only_when_needed(tmp_path: Path) -> None:
    asked: list[str] = []

    def others() -> Sequence[Importer]:
        asked.append("loaded")
        return (ListedValuesImporter([BEGIN, user("u", "Hi")]),)

    registry = ImporterRegistry(BUILT_IN, others)
    path = tmp_path / "a.listed"
    path.write_text("listed")

    registry.import_from(MemoryStore(), sample("codex_rollout.jsonl", tmp_path), now)
    assert asked == []
    report = registry.import_from(MemoryStore(), path, now)

    assert asked == ["loaded"]
    assert [session.title for session in report.sessions] == ["Hi"]


def test_an_installed_importer_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "listed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: listed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[palimpsest.importers]\nlisted = listed_importer:LISTED\nbroken = listed_importer:MISSING\n"
    )
    (tmp_path / "listed_importer.py").write_text(
        "from tests.recordings.import_journal.recordings import BEGIN, ListedValuesImporter\nLISTED = ListedValuesImporter([BEGIN])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    assert [importer.name for importer in installed_importers()] == ["listed"]

    # Installed meanwhile, and removed again.
    info.rename(tmp_path / "listed-1.0.gone")
    assert installed_importers() == ()
    (tmp_path / "listed-1.0.gone").rename(info)
    assert [importer.name for importer in installed_importers()] == ["listed"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(UserError):
        import_file(tmp_path / "pipe.jsonl")
    with pytest.raises(UserError, match="holds no session"):
        import_file(tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_compressed_recording_is_refused_with_what_to_do(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = tmp_path / "session.jsonl.gz"
    packed.write_bytes(pack(sample("pi_version_3.jsonl", tmp_path).read_bytes()))

    with pytest.raises(UserError, match="is compressed: unpack it, and open what comes out"):
        import_file(packed)


def test_compressed_files_of_a_folder_are_named(tmp_path: Path) -> None:
    packed = tmp_path / "old" / "session.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(b"{}"))
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"a,b"))

    with pytest.raises(UserError, match=r"compressed files such as 'session\.jsonl\.gz': unpack"):
        import_file(tmp_path)
    sample("pi_version_3.jsonl", tmp_path)
    _, report = import_file(tmp_path)

    assert len(report.sessions) == 2
    assert [found_problem.sentence for found_problem in report.problems] == [
        "session.jsonl.gz: It is compressed and was passed over: unpack it, and import what comes out."
    ]
    (problem,) = palimpsest.corpus(tmp_path, cache=False)._left_out
    assert problem == f"{packed}: {COMPRESSED_SENTENCE}"


def test_a_file_in_which_another_recording_goes_on_is_read_with_it_alone(tmp_path: Path) -> None:
    folder = sample("atif", tmp_path)

    _, report = import_file(folder)

    # Four requests with 2,950 tokens, and two subagents; each of the three files names the next one or is named.
    assert [session.title for session in report.sessions].count("Make hello.txt.") == 1
    assert len(report.sessions) == 3
    assert [path.name for path, _ in REGISTRY.contents(folder).recordings] == ["trajectory.json"]


def test_of_two_that_name_each_other_one_is_read_with_the_other(tmp_path: Path) -> None:
    for name, other in (("a.json", "b.json"), ("b.json", "a.json")):
        value = {
            "schema_version": "ATIF-v1.7",
            "session_id": name,
            "agent": {"name": "some", "version": "1"},
            "steps": [{"step_id": 1, "source": "user", "message": name}],
            "continued_trajectory_ref": other,
        }
        (tmp_path / name).write_text(json.dumps(value))

    assert [path.name for path, _ in REGISTRY.contents(tmp_path).recordings] == ["a.json"]


@pytest.mark.parametrize("cut", ["the header is missing", "the header is cut off"])
@pytest.mark.parametrize("name", ["pi_version_3.jsonl", "codex_rollout.jsonl"])
def test_a_recording_without_its_header_is_read(tmp_path: Path, name: str, cut: str) -> None:
    path = sample(name, tmp_path)
    store, report = import_file(path)
    header, rest = path.read_text().split("\n", 1)
    path.write_text(rest if cut == "the header is missing" else f"{header[-40:]}\n{rest}")

    headless_store, headless = import_file(path)

    assert [dialogue(headless_store, session.id) for session in headless.sessions] == [
        dialogue(store, session.id) for session in report.sessions
    ]
    assert headless.problems


NINE_FILES = (
    "pi_version_3.jsonl",
    "pi_large_session.jsonl",
    "codex_rollout.jsonl",
    "gemini_cli.jsonl",
    "inspect_plain.eval",
    "marshmallow-1867.traj",
    "mini-swe-agent.traj.json",
    "openhands_v0.jsonl",
    "otel_genai.json",
)


@pytest.fixture
def nine(tmp_path: Path) -> Path:
    """A folder with nine recordings of seven formats, one of them in a folder below."""
    folder = tmp_path / "recordings"
    below = folder / "older"
    below.mkdir(parents=True)
    for name in NINE_FILES:
        sample(name, below if name == "gemini_cli.jsonl" else folder)
    return folder


@pytest.mark.parametrize("owner", thinned(["cline", "openhands_v1", "openhands_v1/events"], 3))
def test_a_recording_in_the_files_of_a_folder_hides_no_other(
    nine: Path, tmp_path: Path, owner: str
) -> None:
    for path in sample(owner, tmp_path).iterdir():
        path.rename(nine / path.name)

    _, report = import_file(nine)

    files = [nine / ("older" if name == "gemini_cli.jsonl" else "") / name for name in NINE_FILES]
    assert sorted(path for path, _ in REGISTRY.contents(nine).recordings) == sorted([nine, *files])
    imported = [session.id for session in report.sessions]
    alone = [session.id for file in files for session in import_file(file)[1].sessions]
    assert set(alone) < set(imported)
    assert len(imported) == len(set(imported)) == len(alone) + 1


def test_a_file_with_the_name_of_an_event_is_told_of_and_hides_no_recording(nine: Path) -> None:
    _, before = import_file(nine)
    (nine / "event-1.json").write_text("{}")

    _, report = import_file(nine)

    assert [session.id for session in report.sessions] == [
        session.id for session in before.sessions
    ]
    sentences = [problem.what for problem in report.problems if problem.where == nine.name]
    assert sentences == [f"The events of {nine.name!r} cannot be read."]


def test_files_that_are_no_recordings_are_counted_and_named(nine: Path) -> None:
    for name in ("a.json", "b.json", "c.jsonl", "d.json", "e.json"):
        (nine / name).write_text("{}")
    (nine / "notes.txt").write_text("Not of interest.")

    _, report = import_file(nine)

    [problem] = [problem for problem in report.problems if "no recording" in problem.what]
    assert problem.where == "a.json"
    assert problem.what == (
        "It is no recording of a known format and was left out, and so were b.json, c.jsonl, d.json and 1 more."
    )


def test_the_name_of_a_file_draws_no_line_of_its_own(tmp_path: Path) -> None:
    sample("pi_version_3.jsonl", tmp_path)
    for name in ("a\x1b[31mred\nAll is well.json", "b\u202etxt.json"):
        (tmp_path / name).write_text("{}")

    _, report = import_file(tmp_path)

    [problem] = report.problems
    assert problem.where == "a\\x1b[31mred All is well.json"
    assert problem.what.endswith("and so were b\\u202etxt.json.")


def test_the_keys_beside_a_database_are_not_looked_at(tmp_path: Path) -> None:
    opencode_sample("opencode_storage", tmp_path).rename(tmp_path / "storage")
    (tmp_path / "auth.json").write_text('{"anthropic": {"key": "sk-test"}}')

    _, report = import_file(tmp_path)

    assert report.sessions
    assert report.problems == ()
