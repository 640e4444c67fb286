"""Agents, commands and skills are listed with their source, completed, and run from a cell."""

import json
from pathlib import Path

import pytest
from tests.frontends.operations.said import said as carried_out

from palimpsest.app.wiring import App
from palimpsest.frontends.magic.completion import Completions
from palimpsest.frontends.operations.definitions import choices_of
from palimpsest.model.script import calls, says
from palimpsest.public.session_object import open_session
from palimpsest.testing import ScriptedModel


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def app(tmp_path: Path) -> App:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    write(
        project / ".palimpsest/commands/git/commit.md", "---\ndescription: Commits | all\n---\nGo."
    )
    write(project / ".claude/agents/poet.md", "---\ndescription: Rhymes\n---\nRhyme.")
    write(project / ".agents/skills/pdf/SKILL.md", "---\ndescription: Reads PDFs\n---\nRead.")
    write(project / ".agents/agents/bad.md", "---\nmode: sideways\n---\nx")
    app = App(start=project, environment={"HOME": str(tmp_path), "PALIMPSEST_CONFIG_CONTENT": ""})
    yield app
    app.close()


def said(app: App, line: str) -> str:
    return app.engine.submit(carried_out(line, services=app)).result().markdown


def test_agents_are_listed_with_their_origin_and_what_is_wrong(app: App) -> None:
    text = said(app, "agents")

    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows[0].startswith("| `* build` | you |  | Does the work")
    assert any(row.startswith("| `poet` | other agents") and "poet.md" in row for row in rows)
    assert not any("compaction" in row or "title" in row for row in rows)
    assert "bad.md is left out: mode is 'sideways'" in text.replace("\\", "")


def test_commands_and_skills_are_listed(app: App) -> None:
    assert "`/git/commit`" in said(app, "commands")
    assert "Commits" in said(app, "commands")
    assert "`pdf`" in said(app, "skills")


def test_a_command_that_is_written_now_is_there_at_once(app: App) -> None:
    write(app.start / ".palimpsest/commands/new.md", "New.")

    assert "`/new`" in said(app, "commands")
    assert "new" in app.completion_values("own command")


def test_names_are_completed(app: App) -> None:
    complete = Completions(lambda: app).line_completions

    assert complete("%agent /gi") == ["/git/commit"]
    assert "explore" in complete("%agent @ex")
    assert "explore" in complete("%agent ask @ex")
    assert "poet" not in complete("%agent --agent ")
    assert "agents" in complete("%agent ")
    assert complete("%agent compact --") == ("--model", "--auto")


def test_a_page_is_told_what_a_prompt_can_name(app: App) -> None:
    choices = choices_of(app)

    assert [command.name for command in choices.commands] == ["git/commit"]
    assert [subagent.name for subagent in choices.subagents] == ["explore", "general", "poet"]
    assert [agent.name for agent in choices.agents] == ["build", "plan"]


def test_the_model_is_offered_the_tools_only_where_there_is_something_for_them(
    app: App, tmp_path: Path
) -> None:
    assert {"task", "skill"} <= set(app.registry.names)
    empty = tmp_path / "empty"
    empty.mkdir()
    other = App(start=empty, environment={"HOME": str(tmp_path)})
    try:
        assert "skill" not in other.registry.names
        spec = other.registry.spec(other.registry.resolve("task"))  # type: ignore[arg-type]
        assert "- explore: Finds things" in spec.description
        assert json.dumps(spec.parameters)
    finally:
        other.close()


def test_a_command_and_a_task_run_from_the_python_api(tmp_path: Path) -> None:
    write(tmp_path / "p/.palimpsest/commands/hi.md", "Greet $1 and nobody else.")
    model = ScriptedModel(
        says("Hello Ada."),
        calls("task", description="Look", prompt="Look around.", agent="explore"),
        says("All is well."),
        says("Done."),
    )
    app = App(
        start=tmp_path / "p",
        environment={"HOME": str(tmp_path), "PALIMPSEST_CONFIG_CONTENT": "titles = false"},
        model=lambda _info: model,
    )
    try:
        session = open_session(app)

        assert session.prompt("/hi Ada").text == "Hello Ada."
        assert session.prompt("Go.").text == "Done."

        assert "Greet Ada and nobody else." in str(model.requests[0].messages)
        (child,) = app.engine.submit(app.workspace.children(session.id)).result()
        assert child.title == "Look (@explore subagent)"
        assert "of Palimpsest that explores" in str(model.requests[2].messages[0])
    finally:
        app.close()
