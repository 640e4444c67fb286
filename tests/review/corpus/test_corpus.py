"""A folder of sessions is one table, reviewed by any executor; what was found is kept, what is broken is named."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.command_line.command_line import run
from tests.recordings.formats.sample_files import SAMPLES
from tests.review.corpus.corpus_folder import broken, recordings
from tests.review.corpus.policies_of_others import EndsItsProcess
from tests.sample_size import thinned

import palimpsest
from palimpsest.review.corpus.corpus import Corpus
from palimpsest.review.corpus.session_sources import sources_in
from palimpsest.transcript.errors import UserError

POLICIES = ["recorded", "opencode.prune", "sweagent.last_n n=3"]


class Counted(Executor):
    """An executor that does the work here and counts it."""

    def __init__(self) -> None:
        self.asked = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked += 1
        made: Future[Any] = Future()
        made.set_result(fn(*args, **kwargs))
        return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return recordings(tmp_path / "recordings")


def opened(folder: Path, executor: Executor | None = None, **options: Any) -> Corpus:
    return palimpsest.corpus(folder, executor or Counted(), cache=folder.parent / "kept", **options)


@pytest.mark.slow
def test_one_row_a_session_with_the_recorded_figures(folder: Path) -> None:
    found = {session.origin: session for session in opened(folder)}

    codex, swe = found["codex"], found["swe-agent"]
    assert (codex.requests, codex.input, codex.peak, codex.unit) == (6, 160_333, 42_519, "USD")
    assert (swe.requests, swe.basis, swe.unit, swe.seconds) == (13, "estimate", "units", None)
    assert swe.tools["bash"] == 6
    assert found["claude-code"].compactions == 1
    assert len(found) == 4


def test_a_capture_beside_recordings_is_named_and_counts_nothing_twice(tmp_path: Path) -> None:
    captured = SAMPLES / "captured_http"
    both, alone = tmp_path / "both", tmp_path / "alone"
    shutil.copytree(captured / "transcript", both)
    alone.mkdir()
    for folder in (both, alone):
        shutil.copyfile(captured / "claude_code.har", folder / "claude_code.har")

    sources = sources_in(both)
    assert [Path(source.path).suffix for source in sources.sources] == [".jsonl"]
    (sentence,) = sources.left_out
    assert sentence.startswith(f"{both / 'claude_code.har'}: It is captured HTTP beside other")

    assert [Path(source.path).suffix for source in sources_in(alone).sources] == [".har"]
    assert sources_in(alone).left_out == ()


def test_nothing_is_read_before_a_table_is_asked_for(folder: Path) -> None:
    executor = Counted()

    corpus = opened(folder, executor)

    assert (len(corpus.sources), executor.asked) == (4, 0)
    assert repr(corpus) == "Corpus(4 sources)"


@pytest.mark.slow
def test_policies_are_compared_over_all_sessions(folder: Path) -> None:
    compared = opened(folder).compare(POLICIES, price="units")

    table = compared.table.records()
    rows = compared.sessions.records()
    assert [entry["policy"] for entry in table] == POLICIES
    for row in table:
        own = [entry for entry in rows if entry["policy"] == row["policy"]]
        assert len(own) == row["sessions"]
        assert row["input"] == sum(int(entry["input"] or 0) for entry in own)
        assert row["peak"] == max(int(entry["peak"] or 0) for entry in own)
        assert row["cost"] == pytest.approx(sum(float(entry["cost"] or 0) for entry in own))
    assert int(table[2]["fired"] or 0) > 0


@pytest.mark.slow
def test_costs_in_dollars_and_in_units_are_not_added(folder: Path) -> None:
    compared = opened(folder).compare(["raw"])

    assert compared.table.records()[0]["cost"] is None
    assert "give one price" in compared.text


@pytest.mark.soak  # with each commit policies are compared over all sessions, above; this adds summaries that are filled
@pytest.mark.slow
def test_summaries_are_filled_in_all_sessions_alike_and_kept_apart(folder: Path) -> None:
    policy = "learn_claude_code.auto trigger=3000"
    corpus = opened(folder)

    plain = corpus.compare(policy).to_dataframe()
    filled = corpus.compare(policy, summary="extract(200)").to_dataframe()

    assert plain["fired"].sum() > 0
    assert filled["input"].sum() < plain["input"].sum()
    assert corpus.compare(policy).to_dataframe().equals(plain)
    with pytest.raises(UserError, match=r"write stub\(1500\)"):
        corpus.compare(policy, summary="best")


@pytest.mark.slow
def test_only_what_is_new_is_reviewed_again(folder: Path) -> None:
    first, second, third, changed = Counted(), Counted(), Counted(), Counted()
    before = opened(folder, first).compare(POLICIES[:2])

    again = opened(folder, second).compare(POLICIES[:2])
    opened(folder, third).compare(POLICIES)
    path = folder / "codex_rollout" / "codex_rollout.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    opened(folder, changed).compare(POLICIES)

    assert [counter.asked for counter in (first, second, third, changed)] == [4, 0, 4, 1]
    assert again == before


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_was(folder: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        opened(folder, progress=stop).table  # noqa: B018
    rest = Counted()

    sessions = len(opened(folder, rest))

    assert (rest.asked, sessions) == (2, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    thinned(["", "[", "null", '{"rows": 1}', '{"rows": [{"a": [1]}], "problems": []}'], 5),
)
def test_kept_results_that_are_damaged_are_made_anew(folder: Path, content: str) -> None:
    before = opened(folder).json()
    for file in (folder.parent / "kept").iterdir():
        file.write_text(content)

    assert opened(folder).json() == before


@pytest.mark.slow
def test_what_is_broken_is_named_and_the_rest_is_there(folder: Path) -> None:
    broken(folder)

    corpus = opened(folder)

    assert (
        len(
            {session.origin for session in corpus}
            & {"codex", "swe-agent", "claude-code", "gemini-cli"}
        )
        == 4
    )
    assert [problem for problem in corpus.problems if "broken.jsonl" in problem]


@pytest.mark.soak  # with each commit a run that was stopped goes on where it was, above; this adds what is told meanwhile
@pytest.mark.slow
def test_progress_is_told_from_none_to_all(folder: Path) -> None:
    progress: list[tuple[int, int]] = []

    opened(folder, progress=lambda done, total: progress.append((done, total))).compare(["raw"])

    assert progress == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.soak  # with each commit threads compare, above; this adds processes
@pytest.mark.slow
def test_threads_and_processes_give_the_same(folder: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        first_comparison = palimpsest.corpus(folder, threads, cache=False).compare(POLICIES)

    other = palimpsest.corpus(folder, cache=False).compare(POLICIES)

    assert first_comparison == other


@pytest.mark.slow
def test_a_session_that_ends_its_process_costs_only_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that ends so cannot remove its temporary folder.
    monkeypatch.setenv("TMPDIR", str(folder.parent))
    policy = EndsItsProcess(origin="swe-agent", spared=os.getpid())

    compared = palimpsest.corpus(folder, cache=False).compare([policy])

    assert {record["origin"] for record in compared.sessions.records()} == {
        "codex",
        "claude-code",
        "gemini-cli",
    }
    (problem,) = compared.problems
    assert "marshmallow-1867.traj" in problem
    assert "Its process ended" in problem


@pytest.mark.soak  # with each commit a session that ends its process costs only itself, above; this adds a script that starts processes
@pytest.mark.slow
def test_a_script_needs_no_guard_around_its_main_part(folder: Path) -> None:
    script = folder.parent / "script.py"
    script.write_text(
        "import palimpsest\nprint('begun')\n"
        f"print(len(palimpsest.corpus({str(folder)!r}, cache=False)))\n"
    )

    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(Path(palimpsest.__file__).parent.parent)},
        check=False,
    )

    assert (ran.stdout, ran.stderr) == ("begun\n4\n", "")


@pytest.mark.slow
def test_results_are_kept_in_the_projects_own_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = folder.parent / "project"
    project.mkdir()
    monkeypatch.chdir(project)

    palimpsest.corpus(folder, Counted()).table  # noqa: B018
    second = Counted()
    palimpsest.corpus(folder, second).table  # noqa: B018

    assert second.asked == 0
    assert len(list((project / ".palimpsest" / "review").iterdir())) == 4
    assert (project / ".palimpsest" / ".gitignore").read_text() == "*\n"


@pytest.mark.soak  # with each commit each session of a folder is a row, above; this adds projects below it
@pytest.mark.slow
def test_projects_below_a_folder_are_part_of_it(folder: Path) -> None:
    project = folder / "project"
    project.mkdir()
    run("import", str(folder / "codex_rollout"), "--project", str(project), cwd=folder)

    corpus = opened(folder)

    named = [source for source in corpus.sources if source.session]
    assert [path_source.path for path_source in named] == [str(project / ".palimpsest")]
    assert [session.input for session in corpus if session.origin == "codex"] == [160_333, 160_333]


@pytest.mark.slow
def test_the_table_is_a_dataframe_and_a_parquet_file(folder: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: the extra [corpus]")
    pandas = pytest.importorskip("pandas")
    corpus = opened(folder)

    corpus.to_parquet(folder / "sessions.parquet")
    table = pandas.read_parquet(folder / "sessions.parquet")

    assert list(table["session"]) == [session.session for session in corpus]
    assert list(table["input"]) == list(corpus.to_dataframe()["input"])


@pytest.mark.soak  # with each commit threads compare, above; this adds dask
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_is_an_executor(folder: Path) -> None:
    distributed = pytest.importorskip(
        "distributed", reason="dask[distributed] is not installed: the extra [corpus]"
    )
    here = opened(folder).compare(POLICIES)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        there = palimpsest.corpus(folder, executor, cache=False).compare(POLICIES)

    assert there == here


def test_a_folder_without_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no session"):
        palimpsest.corpus(tmp_path)
