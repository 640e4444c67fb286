"""Two sessions part at the first different call or answer, whatever the numbers of their requests."""

import json
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.recordings.formats.test_shared_beginnings import claude, claude_copy, write_file
from tests.review.comparison.one_task import MENDED, READ, TESTS, write_both, write_session

import palimpsest
from palimpsest.review.comparison.session_actions import session_actions
from palimpsest.review.recorded_comparison import RecordedComparison
from palimpsest.transcript.errors import UserError


def compared(first: Path, second: Path) -> RecordedComparison:
    return palimpsest.compare_sessions(first, second, price="units")


def test_two_sessions_part_at_the_first_different_call(tmp_path: Path) -> None:
    comparison = compared(*write_both(tmp_path))

    parting = comparison.parting
    assert parting.shared_steps == 2
    assert parting.first_step is not None
    assert parting.second_step is not None
    # A stopped answer of the first is a request and no step; the words beside a call are no action.
    assert (parting.first_step.request, parting.second_step.request) == (3, 2)
    assert parting.sentence() == (
        "They do the same in 2 steps. Then the first calls edit: src/dates.py (request 4), "
        "the second calls bash: grep -rn 'month' . | head (request 3)."
    )
    assert parting.sentence(with_texts=False) == (
        "They do the same in 2 steps. Then the first calls edit (request 4), the second calls bash (request 3)."
    )


def test_a_comparison_has_files_steps_and_ends_of_both(tmp_path: Path) -> None:
    comparison = compared(*write_both(tmp_path))

    rows = {row["figure"]: (row["first"], row["second"]) for row in comparison.table.records()}
    first, second = comparison.json()["sessions"]
    assert rows["steps that acted"] == ("5", "6")
    assert rows["requests"] == ("6", "6")
    assert rows["how it ended"] == (
        "answers: Mended: a year has twelve months.",
        "calls bash: pytest -q tests, which failed",
    )
    assert first["files"] == [{"path": "src/dates.py", "use": "changed"}]
    assert [file["path"] for file in second["files"]] == ["src/dates.py", "NOTES.md"]
    assert (first["files_changed"], second["files_changed"], second["files_read"]) == (1, 2, 0)
    assert comparison.table.lead == (comparison.parting.sentence(),)
    assert comparison.notes == ()


def test_one_that_goes_on_and_one_that_ended_are_named(tmp_path: Path) -> None:
    whole = write_session(tmp_path / "whole.jsonl", MENDED)
    short = write_session(tmp_path / "short.jsonl", (TESTS, READ))
    other = write_session(tmp_path / "other.jsonl", MENDED[4:])

    assert compared(whole, short).parting.sentence() == (
        "They do the same in 2 steps. Then the first calls edit: src/dates.py (request 3), the second has ended."
    )
    assert compared(whole, whole).parting.sentence() == "Both do the same in all of their 5 steps."
    assert (
        compared(whole, other).parting.sentence().startswith("They part at once: the first calls")
    )


def test_two_forks_part_where_each_goes_its_own_way(tmp_path: Path) -> None:
    begun = claude("one", "abc")
    write_file(tmp_path / "z.jsonl", begun)
    first = write_file(
        tmp_path / "m.jsonl", claude_copy("two", begun), claude("two", "de", after="ac", second=20)
    )
    second = write_file(
        tmp_path / "a.jsonl", claude_copy("x", begun), claude("x", "fg", after="ac", second=40)
    )

    comparison = compared(first, second)

    # The answers that both forks copied are steps of both, though no request of theirs.
    assert comparison.parting.sentence() == (
        "They do the same in 3 steps. Then the first answers: Answer d (request 1), "
        "the second answers: Answer f (request 1)."
    )
    assert comparison.first_actions.copied_steps == 3
    assert comparison.notes[0] == (
        "The first begins with 3 steps of another session, whose requests, tokens and cost are counted there."
    )


def test_sessions_of_other_prompts_say_so_and_equal_titles_are_told_apart(tmp_path: Path) -> None:
    first, second = write_both(tmp_path)
    lines = second.read_text("utf-8").splitlines(keepends=True)
    prompt = json.loads(lines[1])
    prompt["message"]["content"][0]["text"] += " Be quick."
    second.write_text("".join([lines[0], json.dumps(prompt) + "\n", *lines[2:]]), "utf-8")

    heads = [column.title for column in compared(first, first).table.columns]

    assert compared(first, second).notes == ("Their first prompts differ.",)
    assert heads[1].startswith("first: Mend")
    assert heads[2].startswith("second: Mend")


@pytest.mark.slow
def test_an_edit_without_a_path_changes_the_file_that_was_named_last(tmp_path: Path) -> None:
    review = palimpsest.open_recording(sample("marshmallow-1867.traj", tmp_path))[0]

    actions = session_actions(review.timeline)

    assert actions.files == {
        "setup.py": "read",
        "reproduce.py": "changed",
        "src/marshmallow/fields.py": "changed",
    }
    assert actions.end() == "calls submit"


def test_a_patch_in_a_shell_command_names_its_files_and_an_editor_that_views_only_reads(
    tmp_path: Path,
) -> None:
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-1\n+2\n*** Add File: b.py\n+3\n*** End Patch\nEOF"
    path = write_session(
        tmp_path / "patched.jsonl",
        (
            ("I patch.", "shell", {"command": patch}, "Done."),
            ("I view.", "str_replace_editor", {"command": "view", "path": "/w/c.py"}, "1"),
            ("I view.", "str_replace_editor", {"command": "view", "path": "/w/d.py"}, "1"),
            ("I edit.", "str_replace_editor", {"command": "insert", "path": "/w/./d.py"}, "1"),
        ),
    )

    actions = session_actions(palimpsest.open_recording(path)[0].timeline)

    assert actions.files == {
        "src/a.py": "changed",
        "b.py": "changed",
        "/w/c.py": "read",
        "/w/d.py": "changed",
    }


def test_an_end_says_whether_the_last_call_has_a_result(tmp_path: Path) -> None:
    review = palimpsest.open_recording(sample("mini-swe-agent.traj.json", tmp_path))[0]

    end = session_actions(review.timeline).end()

    assert end == "calls bash: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT, without a result"


def test_a_command_that_was_written_as_text_is_compared_by_its_text(tmp_path: Path) -> None:
    name = "mini-swe-agent-1.1.0.traj.json"
    recording = sample(name, tmp_path)
    other = tmp_path / "other.traj.json"
    other.write_text(
        recording.read_text("utf-8").replace("```bash\\nls\\n```", "```bash\\nls -a\\n```")
    )

    parting = compared(recording, other).parting

    assert (parting.shared_steps, parting.first_step is None) == (0, False)
    assert compared(recording, recording).parting.first_step is None


def test_an_unknown_figure_names_those_there_are(tmp_path: Path) -> None:
    comparison = compared(*write_both(tmp_path))

    with pytest.raises(
        UserError, match=r"no column 'ends'; there are origin, model, .*, end, context"
    ):
        comparison.table_of_figures(["ends"])
