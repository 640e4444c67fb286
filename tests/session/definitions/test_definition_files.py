"""Agents, commands and skills are read from Markdown files in the usual folders and from the settings."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.session.definitions.frontmatter import parse_definition
from palimpsest.session.definitions.project_definitions import (
    DefinitionSources,
    ProjectDefinitions,
    skill_rules,
)
from palimpsest.tools.file_access.gitignore import GitignoreRules
from palimpsest.tools.permission_rules.permissions import Allowed, Denied, MustAsk, decide_call
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.errors import ConfigError

Shelf = Callable[..., ProjectDefinitions]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(home: Path) -> Path:
    project = home / "work" / "project"
    (project / ".git").mkdir(parents=True)
    return project


@pytest.fixture
def shelf(home: Path, project: Path) -> Shelf:
    def made(**more: Any) -> ProjectDefinitions:
        places = ConfigFolders(
            organisation_folders=(), user=(home / ".config" / "palimpsest",), home=home
        )
        return ProjectDefinitions(DefinitionSources(project, places, **more), lambda: DEFAULT_RULES)

    return made


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("family", [".agents", ".claude", ".opencode", ".palimpsest"])
@pytest.mark.parametrize("kind", ["agent", "agents"])
@pytest.mark.parametrize("where", ["home", "project"])
def test_an_agent_is_read_from_each_usual_folder(
    home: Path, project: Path, shelf: Shelf, family: str, kind: str, where: str
) -> None:
    base = home if where == "home" else project
    head = "---\ndescription: Checks: what it is told\nmode: subagent\ntemperature: 0.3\nsteps: 7\n---\n"
    write(base / family / kind / "checker.md", f"{head}You check.\n")

    agent = shelf().agents["checker"]

    assert (agent.description, agent.prompt) == ("Checks: what it is told", "You check.")
    assert (agent.takes_tasks, agent.answers, agent.steps) == (True, False, 7)
    assert agent.parameters == {"temperature": 0.3}
    assert agent.origin.endswith(f"{family}/{kind}/checker.md")


def test_the_nearer_folder_wins_and_settings_win_over_files(
    home: Path, project: Path, shelf: Shelf
) -> None:
    write(home / ".claude/agents/a.md", "---\ndescription: of the user\nmodel: x/user\n---\nU")
    write(project / ".claude/agents/a.md", "---\ndescription: of the project\n---\nP")
    write(project / ".palimpsest/agents/a.md", "---\ndescription: ours\n---\nO")

    more = {"a": {"steps": 3}, "b": {"prompt": "B"}}
    agents = shelf(agents=more, trusts=lambda _digest: True).agents
    agent = agents["a"]

    assert (agent.description, agent.prompt, agent.steps) == ("ours", "O", 3)
    assert agent.origin.endswith(".palimpsest/agents/a.md")
    assert agents["b"].origin == "settings"


def test_a_built_in_agent_can_be_changed_or_disabled(project: Path, shelf: Shelf) -> None:
    write(project / ".palimpsest/agent/plan.md", "---\nmodel: x/planner\n---\n")
    write(project / ".palimpsest/agent/explore.md", "---\ndisable: true\n---\n")

    agents = shelf(trusts=lambda _digest: True).agents

    assert agents["plan"].model == "x/planner"
    assert agents["plan"].note is not None
    assert "explore" not in agents


def test_a_broken_file_is_one_sentence_and_the_rest_works(project: Path, shelf: Shelf) -> None:
    folder = project / ".opencode" / "agents"
    write(folder / "good.md", "---\ndescription: fine\n---\nWords.")
    write(folder / "yaml.md", "---\ndescription: [1, 2\nmode: x: y\n---\n")
    write(folder / "open.md", "---\ndescription: never ends\n")
    write(folder / "mode.md", "---\nmode: sideways\n---\nx")
    write(folder / "hot.md", "---\ntemperature: 9\n---\nx")
    write(folder / "rules.md", "---\npermission:\n  bash: maybe\n---\nx")
    write(project / ".opencode/command/empty.md", "---\ndescription: nothing\n---\n")
    write(project / ".opencode/skill/one/SKILL.md", "No head.")

    definitions = shelf()

    assert definitions.agents["good"].prompt == "Words."
    assert [words.partition(" is left out")[0].rpartition("/")[2] for words in definitions.problems] == [
        "hot.md", "mode.md", "open.md", "rules.md", "yaml.md", "empty.md", "SKILL.md",
    ]  # fmt: skip
    assert all(words.endswith(".") and "\n" not in words for words in definitions.problems)
    assert "it is one of primary, subagent, all" in definitions.problems[1]


def test_a_pipe_is_not_waited_for(project: Path, shelf: Shelf) -> None:
    write(project / ".palimpsest/agents/good.md", "Words.")
    os.mkfifo(project / ".palimpsest/agents/pipe.md")
    os.mkfifo(project / ".gitignore")

    definitions = shelf()

    assert definitions.agents["good"].prompt == "Words."
    assert [words.rpartition("/")[2] for words in definitions.problems] == [
        "pipe.md is left out: it is no file."
    ]
    assert (
        GitignoreRules.rules_at(project, project).is_ignored(project / "x", is_dir=False) is False
    )


def test_a_project_s_agent_can_be_more_careful_and_never_less(project: Path, shelf: Shelf) -> None:
    text = "---\npermission:\n  '*': allow\n  bash: allow\n  read: deny\n---\nDo anything."
    write(project / ".palimpsest/agents/free.md", text)

    agent = shelf().agents["free"]

    rules = DEFAULT_RULES + agent.rules
    assert isinstance(decide_call("bash", ["rm x"], rules), MustAsk)
    assert isinstance(decide_call("python", ["*"], rules), MustAsk)
    assert isinstance(decide_call("read", ["a.txt"], rules), Denied)
    assert isinstance(decide_call("grep", ["x"], rules), Allowed)


def test_a_person_s_own_agent_may_be_less_careful(home: Path, shelf: Shelf) -> None:
    write(home / ".palimpsest/agents/free.md", "---\npermission:\n  bash: allow\n---\nGo.")

    rules = DEFAULT_RULES + shelf().agents["free"].rules

    assert isinstance(decide_call("bash", ["make"], rules), Allowed)


def test_a_list_of_tools_hides_the_others_and_lifts_no_question(home: Path, shelf: Shelf) -> None:
    write(
        home / ".claude/agents/r.md",
        "---\nname: reader\ntools: Read, Grep, Bash(git:*)\nmodel: sonnet\n---\nx",
    )

    agent = shelf().agents["reader"]

    rules = DEFAULT_RULES + agent.rules
    assert agent.model is None
    assert isinstance(decide_call("edit", ["a"], rules), Denied)
    assert isinstance(decide_call("my_server_tool", ["*"], rules), Denied)
    assert isinstance(decide_call("read", ["a.txt"], rules), Allowed)
    assert isinstance(decide_call("read", [".env"], rules), MustAsk)
    assert isinstance(decide_call("bash", ["ls"], rules), MustAsk)


def test_explore_can_change_nothing_and_asks_before_the_shell(shelf: Shelf) -> None:
    rules = DEFAULT_RULES + shelf().agents["explore"].rules

    for permission in ("edit", "write", "python", "task", "todowrite", "any_tool"):
        assert isinstance(decide_call(permission, ["*"], rules), Denied), permission
    assert isinstance(decide_call("bash", ["ls"], rules), MustAsk)
    assert isinstance(decide_call("read", ["secrets.env"], rules), MustAsk)


def test_a_changed_file_is_read_again_without_a_restart(project: Path, shelf: Shelf) -> None:
    definitions = shelf()
    agents = definitions.agents
    assert not definitions.refresh()

    path = write(project / ".agents/agents/new.md", "---\ndescription: one\n---\nx")
    assert definitions.refresh()
    assert agents["new"].description == "one"

    write(path, "---\ndescription: another\n---\nx")
    os.utime(path, ns=(1, 1))
    assert definitions.refresh()
    assert agents["new"].description == "another"

    path.unlink()
    assert definitions.refresh()
    assert "new" not in agents


def test_commands_have_the_path_below_their_folder_for_a_name(
    home: Path, project: Path, shelf: Shelf
) -> None:
    write(
        home / ".claude/commands/git/commit.md",
        "---\ndescription: Commits\nmodel: opus\n---\nDo $1",
    )
    write(project / ".opencode/command/review.md", "Look at $ARGUMENTS")

    definitions = shelf(commands={"hi": {"template": "Say hi.", "subtask": True}, "no": {}})

    assert list(definitions.commands) == ["git/commit", "hi", "review"]
    assert definitions.commands["git/commit"].model is None
    assert definitions.commands["hi"].subtask is True
    assert definitions.problems == (
        "command.no of the settings has no template, so it does nothing.",
    )


def test_skills_are_folders_with_a_text(home: Path, project: Path, shelf: Shelf) -> None:
    folder = home / ".claude" / "skills" / "pdf"
    write(folder / "SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\nUse the script.")
    write(folder / "scripts" / "go.py", "x")
    write(project / ".agents/skills/deep/sql/SKILL.md", "---\ndescription: Writes SQL\n---\nJoin.")

    skills = shelf().skills

    assert list(skills) == ["pdf", "sql"]
    assert skills["pdf"].files == ("scripts/go.py",)
    rules = DEFAULT_RULES + skill_rules(skills)
    inside = f"{folder.resolve()}/scripts/*"
    assert isinstance(decide_call("external_directory", [inside], rules), Allowed)
    assert isinstance(decide_call("external_directory", [f"{home}/*"], rules), MustAsk)


def test_an_unusable_default_agent_is_told_and_another_one_answers(shelf: Shelf) -> None:
    definitions = shelf(default_agent="explore")

    assert definitions.default_agent == "build"
    assert "it only works for other agents" in definitions.problems[0]


def test_a_default_agent_that_is_not_there_is_told_with_those_that_are(shelf: Shelf) -> None:
    definitions = shelf(default_agent="builder")

    assert definitions.default_agent == "build"
    assert (
        "there is none of that name. Agents that can answer: build, plan" in definitions.problems[0]
    )


def test_an_alias_in_a_head_is_refused() -> None:
    with pytest.raises(ConfigError, match="aliases"):
        parse_definition("---\na: &x [1]\nb: *x\n---\n")


def test_a_file_of_a_stranger_in_a_folder_open_to_all_is_left_out(
    project: Path, shelf: Shelf
) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root to chown")
    path = write(project / ".agents/agents/evil.md", "---\ndescription: x\n---\nx")
    path.parent.chmod(0o777)
    os.chown(path, 12345, 12345)

    definitions = shelf()

    assert "evil" not in definitions.agents
    assert "it belongs to another user" in definitions.problems[0]
