"""A folder's instruction files are added once, before the first file that is read there."""

import asyncio
from pathlib import Path

from tests.harness.session import SessionHarness, ask
from tests.harness.tools import ToolHarness

from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.tools.files.read_tool import MAX_INSTRUCTION_BYTES, instruction_files_between
from palimpsest.transcript.parts import ToolCompleted, ToolPart

NOTE = "<note>\nInstructions from: sub/AGENTS.md (for work in this folder)\nUse metres.\n</note>"


def test_looks_in_folders_below_the_working_one_only(tmp_path: Path) -> None:
    for folder in ("", "work", "work/sub", "work/sub/deep", "other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "AGENTS.md").write_text("x")
    (tmp_path / "work/sub/CLAUDE.md").write_text("the second name")

    def found(path: str) -> list[str]:
        paths = instruction_files_between(tmp_path / path, tmp_path, tmp_path / "work")
        return [str(found_path.relative_to(tmp_path)) for found_path in paths]

    assert found("work/a.py") == []
    assert found("a.py") == []
    assert found("work/sub/deep/a.py") == ["work/sub/AGENTS.md", "work/sub/deep/AGENTS.md"]
    assert found("other/a.py") == ["other/AGENTS.md"]
    assert found("work/sub/AGENTS.md") == []
    assert instruction_files_between(Path("/elsewhere/a.py"), tmp_path, tmp_path) == ()


async def test_stand_before_the_file(harness: ToolHarness) -> None:
    harness.write("sub/AGENTS.md", "Use metres.\n")
    harness.write("sub/a.txt", "one\n")

    outcome = await harness.call("read", path="sub/a.txt")

    assert outcome.output == f"{NOTE}\n\n1: one"
    assert outcome.metadata["instructions"] == [str(harness.root.resolve() / "sub/AGENTS.md")]


async def test_are_shown_by_one_of_several_calls(harness: ToolHarness) -> None:
    harness.write("sub/AGENTS.md", "Use metres.\n")
    for name in "abc":
        harness.write(f"sub/{name}.txt", "one\n")

    outcomes = await asyncio.gather(
        *(harness.call("read", path=f"sub/{name}.txt") for name in "abc")
    )

    assert sum("Use metres." in outcome.output for outcome in outcomes) == 1


async def test_a_long_one_is_cut_and_says_so(harness: ToolHarness) -> None:
    harness.write("sub/AGENTS.md", "x" * (MAX_INSTRUCTION_BYTES + 1))
    harness.write("sub/a.txt", "one\n")

    output = (await harness.call("read", path="sub/a.txt")).output

    assert "x" * MAX_INSTRUCTION_BYTES in output
    assert "x" * (MAX_INSTRUCTION_BYTES + 1) not in output
    assert "(The rest of sub/AGENTS.md is left out here" in output
    assert output.endswith("1: one")


async def test_an_empty_one_is_none(harness: ToolHarness) -> None:
    harness.write("sub/AGENTS.md", " \n")
    harness.write("sub/a.txt", "one\n")

    assert (await harness.call("read", path="sub/a.txt")).output == "1: one"


def reading(*paths: str) -> list[ModelAnswer]:
    return [calls("read", path=path) for path in paths]


async def test_a_live_session_is_shown_them_once_and_again_after_a_summary(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/AGENTS.md").write_text("Use metres.")
    for name in ("a", "b", "c"):
        (tmp_path / f"sub/{name}.txt").write_text("one\n" * 40)
    summary = "Goal: read. " + "Everything was read and found to be in order. " * 8
    model = ScriptedModel(
        *reading("sub/a.txt", "sub/b.txt"), says("Read. " + "word " * 1_500).in_pieces(4_000)
    )
    session = await SessionHarness(tmp_path, model, policy="opencode-1.1").session()

    await ask(session, "Read them")
    model.script(says(summary))
    await session.compact()
    model.script(*reading("sub/c.txt"), says("Read."))
    await ask(session, "And the last")

    outputs = [
        part.state.output
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
    ]
    assert ["Use metres." in output for output in outputs] == [True, False, True]


async def test_nested_instructions_that_lead_out_are_named_and_not_shown(
    harness: ToolHarness, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("CANARY")
    harness.write("sub/a.txt", "one\n")
    (harness.root / "sub/AGENTS.md").symlink_to(tmp_path / "secret.md")

    outcome = await harness.call("read", path="sub/a.txt")

    assert "CANARY" not in outcome.output
    assert "sub/AGENTS.md are left out: it leads out of the project." in outcome.output
