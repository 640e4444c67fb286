"""The console script inspects, compares and imports recordings, and its exit code says what it found."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.frontends.command_line.command_line import IMPORTED, PACKAGE, run
from tests.harness.process_forks import forked_python
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_shared_beginnings import made

from palimpsest.frontends.command_line.main import main

SCHEMA = json.loads((PACKAGE / "frontends/command_line/report.schema.json").read_text("utf-8"))
PI = "pi_large_session.jsonl"
CAPTURED = Path(__file__).parents[2] / "recordings/formats/samples/captured_http"


def valid(report: Any) -> Any:
    """Return a report that the schema allows."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(report, SCHEMA, jsonschema.Draft202012Validator)
    return report


def listing(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_folder_is_one_table_in_the_order_that_is_named(tmp_path: Path) -> None:
    made(tmp_path / "sessions", "claude")
    (tmp_path / ".palimpsest").mkdir()
    (tmp_path / ".palimpsest" / "project.json").write_text("{}")

    ran = run("inspect", "sessions", "--by", "requests", "--json", cwd=tmp_path)
    output = run("inspect", "sessions", "--by", "requests", cwd=tmp_path)
    one = run("inspect", "sessions", "--by", "requests", "--session", "1", cwd=tmp_path)
    joined = run("inspect", "sessions", "--by", "cost", "--captured", "x.har", cwd=tmp_path)

    report = valid(json.loads(ran.out))
    rows = [(row["file"], row["requests"], row["input"]) for row in report["sessions"]]
    assert rows == [("z.jsonl", 3, 330), ("m.jsonl", 2, 220), ("a.jsonl", 1, 110)]
    assert report["together"]["input"] == 660
    assert "Together: 6 requests, 660 tokens read, 30 written" in output.out
    assert one.code == 2
    assert "--by is about all sessions of a folder; leave out --session." in one.err
    assert joined.code == 2
    assert "--captured belongs to one recording" in joined.err
    assert listing(tmp_path / ".palimpsest") == {"project.json"}


@pytest.mark.slow
def test_inspect_joins_a_recording_with_a_capture_of_its_requests(tmp_path: Path) -> None:
    (transcript,) = (CAPTURED / "transcript").glob("*.jsonl")
    capture = CAPTURED / "claude_code.har"

    alone = run("inspect", str(transcript), "--json", cwd=tmp_path)
    ran = run("inspect", str(transcript), "--captured", str(capture), "--json", cwd=tmp_path)
    two = run("compare", str(transcript), str(transcript), "--captured", str(capture), cwd=tmp_path)

    assert ran.code == 0
    assert "shown with another recording, which has their answers: 5." in ran.err
    sessions = valid(ran.json)["sessions"]
    assert [session["origin"] for session in sessions] == [
        "claude-code",
        "claude-code",
        "captured-http",
        "captured-http",
    ]
    known = [session["input"] for session in valid(alone.json)["sessions"]]
    assert [session["input"] for session in sessions][:2] == known
    assert (two.code, two.out) == (2, "")
    assert "--captured belongs to one recording; give one to compare." in two.err


@pytest.mark.slow
def test_inspect_gives_the_numbers_of_the_recording_and_writes_nothing(tmp_path: Path) -> None:
    sample(PI, tmp_path)
    before = listing(tmp_path)

    ran = run("inspect", PI, "--json", cwd=tmp_path)

    assert (ran.code, ran.err) == (0, "")
    (session,) = valid(ran.json)["sessions"]
    wanted = {
        "origin": "pi",
        "model": "anthropic/claude-sonnet-4-5",
        "requests": 453,
        "reported": 439,
        "basis": "fact",
        "input": 47_526_750,
        "uncached": 1_049,
        "cache_write": 4_296_232,
        "output": 83_156,
        "peak": 177_604,
        "unit": "USD",
        "breaks": 37,
        "compactions": 0,
    }
    assert {key: session[key] for key in wanted} == wanted
    assert session["cost"] == pytest.approx(30.3302, abs=1e-4)
    assert session["break_cost"] == pytest.approx(14.21, abs=0.01)
    assert session["cached"] == pytest.approx(0.9096, abs=1e-4)
    assert session["causes"]["idle"] == 4
    assert sum(session["causes"].values()) == len(session["cache_breaks"]) == 37
    outputs = next(kind for kind in session["items_by_kind"] if kind["kind"] == "output")
    assert outputs["peak_share"] == pytest.approx(0.517, abs=0.005)
    assert listing(tmp_path) == before


@pytest.mark.slow
def test_inspect_in_plain_text_names_the_figures_and_the_breaks(tmp_path: Path) -> None:
    sample("codex_rollout.jsonl", tmp_path)

    ran = run("inspect", "codex_rollout.jsonl", cwd=tmp_path)

    assert ran.code == 0
    assert "\x1b" not in ran.out
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "input tokens 160,333" in lines
    assert "share read from the cache .564" in lines
    assert "Items by kind" in lines


def table_rows(markdown: str) -> list[list[str]]:
    """The cells of the Markdown tables, without the lines under their heads."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def chat(path: Path, title: str) -> str:
    """Write a recording of one request."""
    said = [{"role": "user", "content": title}, {"role": "assistant", "content": "Well."}]
    path.write_text(json.dumps({"messages": said}) + "\n", encoding="utf-8")
    return str(path)


def test_a_pull_request_shows_six_columns_the_named_ones_and_a_link_to_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = ["compare", chat(tmp_path / "s.jsonl", "Look."), "--policy", "raw", "recorded"]
    address = "https://example.com/a_(b)/report.html?run=1"

    assert main([*compared, "--markdown", "--link", address]) == 0
    narrow = capsys.readouterr().out
    assert main([*compared, "--markdown", "--columns", "peak, verdict"]) == 0
    named = capsys.readouterr().out
    assert main([*compared, "--columns", "peak", "--link", address]) == 0
    text = capsys.readouterr().out

    assert [len(row) for row in table_rows(narrow)] == [6, 6, 6]
    assert [row[0] for row in table_rows(narrow)] == ["policy", "raw", "recorded"]
    assert narrow.endswith(f"\n\n[Report](<{address}>)\n")
    assert table_rows(named)[0] == ["policy", "\\~peak", "how often, or why not"]
    assert "\npolicy    ~peak\n" in text
    assert text.endswith(f"\n\nReport: {address}\n")


def test_a_recording_beside_itself_says_each_thing_once_and_escapes_a_pipe_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = chat(tmp_path / "s.jsonl", "a | b")

    assert main(["compare", path, path, "--markdown", "--columns", "requests,cost"]) == 0

    output = capsys.readouterr().out
    assert [row[0] for row in table_rows(output)] == ["figure", "requests", "cost, units"]
    assert table_rows(output)[0][1:3] == ["first: a \\| b", "second: a \\| b"]
    notes = [line for line in output.splitlines()[1:] if line and not line.startswith("|")]
    assert len(notes) == len(set(notes)) > 0


def test_no_condition_is_about_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large, small = chat(tmp_path / "a", "Look. " * 100), chat(tmp_path / "b", "Look.")
    assert main(["inspect", small, "--json"]) == 0
    (tmp_path / "earlier.json").write_text(capsys.readouterr().out)
    condition = ["--fail-if", "peak > 100"]

    smaller = main(["compare", large, small, *condition])
    larger = main(["compare", small, large, *condition])
    one_policy = main(["compare", large, "--policy", "raw", *condition])
    baseline = ["--baseline", str(tmp_path / "earlier.json")]
    both = main(["compare", large, large, *baseline, "--fail-if", "peak > baseline"])
    capsys.readouterr()
    alone = main(["inspect", large, "--fail-if", "peak > baseline"])

    assert (smaller, larger, one_policy, both, alone) == (0, 1, 1, 1, 2)
    assert "there is no row beside the baseline" in capsys.readouterr().err


POLICIES = ("recorded", "opencode.prune", "sweagent.last_n n=10")


@pytest.mark.soak  # with each commit a comparison has its baseline as its first row, below; this adds Markdown
@pytest.mark.slow
def test_compare_gives_one_row_a_policy_in_markdown_for_a_pull_request(tmp_path: Path) -> None:
    sample("codex_rollout.jsonl", tmp_path)

    output = run(
        "compare", "codex_rollout.jsonl", "--markdown", "--policy", *POLICIES, cwd=tmp_path
    )

    rows = [line for line in output.out.splitlines() if line.startswith("| ")]
    # A replay does not reproduce the small recording, which each of its rows says.
    assert [row.split("|")[1].strip(" ?") for row in rows] == [
        "policy",
        "reported (facts)",
        *POLICIES,
    ]


@pytest.mark.soak  # with each commit a small recording that is not reproduced fails, below; this adds a large one
def test_compare_says_how_much_of_a_large_recording_is_reproduced(tmp_path: Path) -> None:
    sample(PI, tmp_path)

    output = run("compare", PI, "--json", "--policy", *POLICIES, cwd=tmp_path)

    (compared,) = valid(output.json)["comparisons"]
    proof = compared["proof"]
    assert (proof["requests"], proof["reproduced"], proof["taken"]) == (438, 409, 29)
    assert compared["lead"] == [proof["sentence"]]
    assert compared["doubtful"] == []
    assert [row["policy"] for row in compared["rows"]] == ["reported (facts)", *POLICIES]
    assert [row["fired"] for row in compared["rows"]] == [None, 0, 1, 362]


@pytest.mark.soak  # with each commit tests/review/recorded_sessions/test_recording.py compares two; this adds the command line
@pytest.mark.slow
def test_two_recordings_are_compared_by_facts(tmp_path: Path) -> None:
    sample(PI, tmp_path)
    sample("codex_rollout.jsonl", tmp_path)

    ran = run("compare", PI, "codex_rollout.jsonl", "--json", cwd=tmp_path)

    first, second = valid(ran.json)["sessions"]
    assert (first["origin"], first["input"], first["tools"]["bash"]) == ("pi", 47_526_750, 192)
    assert (second["origin"], second["input"], second["requests"]) == ("codex", 160_333, 6)
    assert (first["context"][-1], second["context"][-1]) == (177_604, 42_519)


@pytest.mark.slow
def test_import_brings_sessions_into_a_project_once(tmp_path: Path) -> None:
    source = sample("codex_rollout.jsonl", tmp_path)
    project = tmp_path / "project"
    project.mkdir()

    first = run("import", source.name, "--project", "project", "--json", cwd=tmp_path)
    again = run("import", source.name, "--project", "project", "--json", cwd=tmp_path)
    inspected = run("inspect", "project", "--json", cwd=tmp_path)

    assert [imported["outcome"] for imported in valid(first.json)["sessions"]] == ["new"]
    assert [imported["outcome"] for imported in valid(again.json)["sessions"]] == ["same"]
    (session,) = valid(inspected.json)["sessions"]
    assert session["session"] == first.json["sessions"][0]["session"]
    assert session["input"] == 160_333


@pytest.mark.slow
def test_a_project_is_inspected_without_a_change_in_its_folder(tmp_path: Path) -> None:
    source = sample("codex_rollout.jsonl", tmp_path)
    run("import", source.name, "--project", ".", cwd=tmp_path)
    root = tmp_path / ".palimpsest"
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}

    ran = run("inspect", ".palimpsest", cwd=tmp_path)

    assert ran.code == 0
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.mark.slow
def test_a_report_is_the_baseline_of_a_later_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(sample("codex_rollout.jsonl", tmp_path))
    assert main(["inspect", path, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    report["sessions"][0]["cost"] /= 2
    baseline = tmp_path / "main.json"
    baseline.write_text(json.dumps(report))
    against = ["inspect", path, "--baseline", str(baseline), "--fail-if"]

    assert main([*against, "cost > 1.1 * baseline"]) == 1
    assert "cost > 1.1 * baseline holds for" in capsys.readouterr().err
    assert main([*against, "cost > 2.1 * baseline or breaks > 1"]) == 0
    assert main([*against, "cost > 2.1 * baseline or input > 160_000"]) == 1


def test_a_recording_that_is_not_reproduced_fails_a_condition_on_its_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doubtful = str(sample("inspect_plain.eval", tmp_path))
    condition = ["--fail-if", "proof < 0.95"]

    compared = main(["compare", doubtful, "--policy", "raw", "cache.system", *condition])
    output = capsys.readouterr()
    inspected = main(["inspect", doubtful, "--json", "--fail-if", "proof_money > 0.03"])
    values = valid(json.loads(capsys.readouterr().out))

    assert (compared, inspected) == (1, 1)
    assert "proof < 0.95 holds for 'cache.system': proof 0." in output.err
    assert output.out.index("Replayed as recorded: 0 of 2 requests") < output.out.index("\nraw ?")
    assert values["sessions"][0]["proof"]["holds"] is False


@pytest.mark.slow
def test_the_first_row_of_a_comparison_is_its_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(sample("marshmallow-1867.traj", tmp_path))
    policies = ["--policy", "raw", "sweagent.last_n n=3"]

    broken = main(["compare", path, *policies, "--fail-if", "breaks > baseline + 2"])

    assert broken == 1
    assert "holds for 'sweagent.last_n n=3': breaks " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["inspect", "missing.jsonl"], "There is no 'missing.jsonl'."),
        (["inspect", "notes.json"], "'notes.json' holds no session that can be imported"),
        (["compare", "s.jsonl", "--policy", "magic"], "There is no policy 'magic'"),
        (["compare", "s.jsonl", "--policy", "sweagent.last_n m=1"], "has no number 'm'"),
        (["compare", "s.jsonl", "s.jsonl", "--policy", "raw"], "over one recording"),
        (["compare", "s.jsonl", "s.jsonl", "s.jsonl"], "or two recordings"),
        (["inspect", "s.jsonl", "--price", "nobody/knows"], "price of 'nobody/knows'"),
        (["inspect", "s.jsonl", "--session", "9"], "no session number 9"),
        (["inspect", "s.jsonl", "--fail-if", "costs > 1"], "There is no column 'costs'"),
        (["compare", "s.jsonl", "--columns", "costs"], "'costs'; there are policy, input, peak,"),
        (["compare", "s.jsonl", "s.jsonl", "--columns", "kept"], "'kept'; there are origin, model"),
        (["compare", "s.jsonl", "--link", "javascript:alert(1)"], "begins with https://"),
        (["inspect", "s.jsonl", "--fail-if", "cost > 1", "--baseline", "s.jsonl"], "by --json"),
        (["inspect", "s.jsonl", "--baseline", "s.jsonl"], "give --fail-if as well"),
        (["import", "s.jsonl", "--project", "nowhere"], "There is no folder 'nowhere'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_ends_with_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    sample("codex_rollout.jsonl", tmp_path).rename("s.jsonl")
    Path("notes.json").write_text('{"a": 1}')

    code = main(arguments)

    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert told in output.err
    assert len(output.err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [[], ["look"], ["inspect"], ["compare", "a", "--window", "x"]]
)
def test_a_wrong_use_ends_with_two(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: palimpsest" in capsys.readouterr().err


@pytest.mark.slow
def test_a_terminals_commands_in_a_recording_are_not_sent_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = {
        "messages": [
            {"role": "user", "content": "\x1b]0;owned\x07\x1b[31mred\u202e"},
            {"role": "assistant", "content": "Well."},
        ]
    }
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(chat) + "\n")

    for form in ([], ["--markdown"], ["--json"]):
        assert main(["inspect", str(path), *form]) == 0
        output = capsys.readouterr().out
        assert not {"\x1b", "\x07"} & set(output)


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = sample("codex_rollout.jsonl", tmp_path)
    reads, writes = os.pipe()
    os.close(reads)

    ran = subprocess.run(
        [*forked_python(*IMPORTED), "-m", "palimpsest", "inspect", str(path)],
        stdout=writes,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=False,
    )
    os.close(writes)

    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.soak  # with each commit tests/test_loaded_modules.py counts what a script and a kernel load; this adds a command
@pytest.mark.slow
def test_help_has_examples_and_nothing_heavy_is_imported_for_any_command(tmp_path: Path) -> None:
    path = sample("codex_rollout.jsonl", tmp_path)
    script = (
        "import sys\n"
        "from palimpsest.frontends.command_line.main import main\n"
        f"assert main(['inspect', {str(path)!r}]) == 0\n"
        "heavy = {'litellm', 'tiktoken', 'IPython', 'ipykernel', 'jupyter_client', 'pandas', 'httpx'}\n"
        "print('imported:', *(heavy & sys.modules.keys()))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=False,
    )

    helped = run("--help", cwd=tmp_path)

    assert ran.stdout.splitlines()[-1].strip() == "imported:", ran.stderr
    assert (
        'compare session.jsonl --policy recorded opencode.prune "sweagent.last_n n=10"'
        in helped.out
    )


@pytest.mark.slow
def test_report_writes_one_page_over_an_older_one_and_over_nothing_else(tmp_path: Path) -> None:
    sample("marshmallow-1867.traj", tmp_path)
    (tmp_path / "notes.html").write_text("Mine.\n")
    asked = "report", "marshmallow-1867.traj", "--policy", "sweagent.last_n n=3", "raw"

    ran = run(*asked, "-o", "page.html", "--json", cwd=tmp_path)
    again = run(*asked, "-o", "page.html", "--texts", "none", cwd=tmp_path)
    refused = run(*asked, "-o", "notes.html", cwd=tmp_path)
    unknown = run(*asked[:2], "-o", "other.html", "--policy", "no.such", cwd=tmp_path)
    nowhere = run(*asked, "-o", "no/page.html", cwd=tmp_path)

    assert (ran.code, ran.err) == (0, "")
    written = valid(ran.json)
    assert written["file"] == str(tmp_path / "page.html")
    assert (again.code, again.err) == (0, "")
    assert (tmp_path / "page.html").stat().st_size < written["bytes"]
    assert refused.code == unknown.code == nowhere.code == 2
    assert refused.err.endswith("is there already and is no report; name another file.\n")
    assert "no.such" in unknown.err
    assert "There is no folder" in nowhere.err
    assert (tmp_path / "notes.html").read_text() == "Mine.\n"
    assert listing(tmp_path) == {"marshmallow-1867.traj", "notes.html", "page.html"}


@pytest.mark.parametrize("others", ["", "Thread(target=lambda: print('thread ended')).start()"])
def test_the_process_ends_with_its_code_once_exit_handlers_ran_and_all_was_written(
    others: str,
) -> None:
    script = (
        "import atexit\n"
        "from threading import Thread\n"
        "from palimpsest.frontends.command_line.main import end_process\n"
        "atexit.register(print, 'handler ran')\n"
        f"print('written', end=' '); {others}\n"
        "end_process(3)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (3, "")
    assert ran.stdout.startswith("written ")
    assert ran.stdout.endswith("handler ran\n")
    assert ("thread ended" in ran.stdout) == bool(others)
