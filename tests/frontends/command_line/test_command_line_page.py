"""Every command of docs/command-line.md runs as written, and the page names every option."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.frontends.command_line.command_line import run
from tests.recordings.formats.sample_files import sample

from palimpsest.frontends.command_line.main import build_parser

PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ palimpsest (.*)$", PAGE, re.MULTILINE)


def test_every_command_of_the_page_is_one() -> None:
    """What it then does, ``test_command_line.py`` has for each kind of command, and the soak as written."""
    for command in COMMANDS:
        words = shlex.split(command)
        parsed = build_parser().parse_args(words[: words.index(">")] if ">" in words else words)
        assert parsed.command == words[0], command

    assert len(COMMANDS) > 10


def without_branch(path: Path) -> Path:
    """Leave the newest branch of a session of pi alone: one of a single request is no measure for a policy."""
    header, *lines = path.read_text("utf-8").splitlines(keepends=True)
    entries = [json.loads(line) for line in lines]
    parents = {entry["id"]: entry["parentId"] for entry in entries}
    name, on_path = entries[-1]["id"], set()
    while name is not None:
        on_path.add(name)
        name = parents[name]
    kept = [line for line, entry in zip(lines, entries, strict=True) if entry["id"] in on_path]
    path.write_text("".join([header, *kept]), encoding="utf-8")
    return path


@pytest.mark.soak  # with each commit every command of the page is one, above; this adds that it runs
@pytest.mark.slow
def test_every_command_of_the_page_runs(tmp_path: Path) -> None:
    for name in ("session.jsonl", "before.jsonl"):
        without_branch(sample("pi_version_3.jsonl", tmp_path)).rename(tmp_path / name)
    sample("codex_rollout.jsonl", tmp_path).rename(tmp_path / "after.jsonl")

    started = False
    for command in COMMANDS:
        words = shlex.split(command)
        target = words[words.index(">") + 1] if ">" in words else ""
        given = words[: words.index(">")] if target else words
        ran = run(*given, cwd=tmp_path, fresh=not started)
        started = True
        if "proof <" in command:
            # A replay does not reproduce the small session, which is what this condition is for.
            assert (command, ran.code) == (command, 1)
            assert "proof" in ran.err
        else:
            assert (command, ran.code, ran.err) == (command, 0, "")
        assert ran.out
        if target:
            (tmp_path / target).write_text(ran.out, encoding="utf-8")

    assert len(COMMANDS) > 10


def test_every_option_stands_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    options: set[str] = set()
    for command in ("import", "inspect", "compare", "report", "notes"):
        with pytest.raises(SystemExit):
            build_parser().parse_args([command, "--help"])
        options |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))

    missing = {option for option in options - {"--help"} if option not in PAGE}
    assert missing == set()
