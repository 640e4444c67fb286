"""Files in an untrusted clone add no content from outside, and no key, to a request."""

import os
import threading
from pathlib import Path

import pytest
from tests.hostile.linked_secrets import plant
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.model.script import ModelAnswer, calls, says
from palimpsest.public.session_object import Session
from palimpsest.session.turn_setup.environment_updates import read_instructions, read_matching_files
from palimpsest.testing import ScriptedModel
from palimpsest.tools.file_access.file_contents import UnreadableForPrompt, read_for_prompt
from palimpsest.transcript.user_notices import user_notice_text


def app_in(root: Path, *answers: ModelAnswer, **environment: str) -> tuple[App, ScriptedModel]:
    model = ScriptedModel(*answers)
    app = App(
        start=root,
        model=lambda _: model,
        environment={"HOME": str(root.parent / "home"), **environment},
        overrides={"titles": False},
    )
    return app, model


def session_of(app: App) -> Session:
    return Session(app, app.engine.submit(app.workspace.current(None)).result(LAST_RESORT_SECONDS))


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, list[str]]:
    root, home = tmp_path / "clone", tmp_path / "home"
    return root, plant(root, home)


def test_no_request_of_a_hostile_clone_holds_a_key_or_a_byte_from_outside(
    clone: tuple[Path, list[str]],
) -> None:
    root, canaries = clone
    app, model = app_in(
        root,
        calls("read", path="sub/deep/a.txt"),
        calls("grep", pattern="."),
        calls("skill", name="own"),
        calls("read", path="data.txt"),
        calls("read", path=".env"),
        says("Done."),
        says("Again."),
    )
    try:
        session = session_of(app)
        session.prompt("Look at @data.txt, @.env, @AGENTS.md and @sub/deep/a.txt")
        session.prompt("/deploy now")
        sent = "\n".join(str((request.messages, request.tools)) for request in model.requests)
        notices = [
            words
            for message in session.messages
            for part in message.parts
            if (words := user_notice_text(part))
        ]
    finally:
        app.close()

    assert len(model.requests) == 7
    assert "WORDS-OF-THE-PROJECT" in sent
    assert "Do it well." in sent
    assert [canary for canary in canaries if canary in sent] == []
    assert len(notices) == 1
    for name in (
        "/clone/AGENTS.md", ".env", "guide.md", "secrets.toml", "deploy.md",
        "helper.md", "good/SKILL.md", ".palimpsest/skills", ".claude/agents",
    ):  # fmt: skip
        assert name in notices[0]


def test_a_persons_own_settings_may_name_files_outside_and_no_keys(tmp_path: Path) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    root.mkdir()
    (home / "notes/mine.md").write_text("WORDS-OF-MINE")
    (home / "notes/link.md").symlink_to(home / "notes/mine.md")
    (home / "notes/.env").write_text("CANARY")
    named = f'instructions = ["{home}/notes/*", "{home}/notes/.env"]'
    app, model = app_in(root, says("Yes."), PALIMPSEST_CONFIG_CONTENT=named)
    try:
        session_of(app).prompt("Hello")
    finally:
        app.close()

    assert str(model.requests[0].messages).count("WORDS-OF-MINE") == 2
    assert "CANARY" not in str(model.requests[0].messages)


@pytest.mark.parametrize("name", ["../outside.md", "door/../outside.md", "*/../outside.md", "loop"])
def test_a_name_of_the_project_does_not_lead_out_of_it(tmp_path: Path, name: str) -> None:
    root = tmp_path / "project"
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "far/outside.md").write_text("CANARY")
    (root / "sub").mkdir(parents=True)
    (root / "door").symlink_to(tmp_path / "far/away")
    (root / "loop").symlink_to(root / "loop")
    (tmp_path / "outside.md").write_text("named outside")
    problems: list[str] = []

    files = read_matching_files((str(root / name),), root, problems)

    assert "CANARY" not in str(files)


@pytest.mark.parametrize("name", ["palimpsest.toml", ".palimpsest/config.toml"])
def test_settings_of_a_project_that_lead_out_are_not_read(tmp_path: Path, name: str) -> None:
    root, outside = tmp_path / "project", tmp_path / "home/.streamlit/secrets.toml"
    (root / name).parent.mkdir(parents=True)
    outside.parent.mkdir(parents=True)
    outside.write_text('CANARY = "CANARY"\nsystem = "CANARY"\n')
    (root / name).symlink_to(outside)
    app, model = app_in(root, says("Yes."))
    try:
        session_of(app).prompt("Hello")
        told = " ".join(app.config.problems)
    finally:
        app.close()

    assert "CANARY" not in str(model.requests[0].messages)
    assert "CANARY" not in str((app.config.rows(), app.config.remarks()))
    assert "was not read: it leads out of the project." in told


def test_pipes_devices_folders_and_circles_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    os.mkfifo(tmp_path / "AGENTS.md")
    (tmp_path / "a/AGENTS.md").mkdir()
    (tmp_path / "a/b/AGENTS.md").symlink_to("/dev/zero")
    (tmp_path / "a/b/c/AGENTS.md").symlink_to("AGENTS.md")
    done: list[object] = []
    problems: list[str] = []

    def look() -> None:
        done.append(read_instructions(tmp_path / "a/b/c", tmp_path, problems))
        patterns = (str(tmp_path / "AGENTS.md"), str(tmp_path / "a/**/AGENTS.md"), "/dev/zero")
        done.append(read_matching_files(patterns, tmp_path, problems))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(LAST_RESORT_SECONDS)

    assert done == [(), ()]


def test_a_huge_file_is_read_up_to_its_beginning(tmp_path: Path) -> None:
    with (tmp_path / "AGENTS.md").open("wb") as file:
        file.truncate(5 << 30)

    ((_, text),) = read_instructions(tmp_path, tmp_path, [])

    assert len(text) == 40_000


def test_a_link_that_stays_in_the_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").write_text("Use metres.")
    (tmp_path / "AGENTS.md").symlink_to("docs/rules.md")

    assert read_instructions(tmp_path, tmp_path, [])[0][1] == "Use metres."


def test_a_file_of_the_project_is_no_file_of_keys_because_of_where_the_project_lies(
    tmp_path: Path,
) -> None:
    root = tmp_path / ".aws/project"
    root.mkdir(parents=True)
    (root / "AGENTS.md").write_text("x")

    assert read_for_prompt(root / "AGENTS.md", root, 10) == b"x"
    with pytest.raises(UnreadableForPrompt, match="keys"):
        read_for_prompt(root / "AGENTS.md", None, 10)
