"""A project's settings restrict at once; settings that loosen or run something wait for the user's trust."""

from pathlib import Path

import pytest

from palimpsest.app.loaded_config import LoadedConfig, distrust_project, load, trust_project
from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.tools.permission_rules.permissions import (
    Allowed,
    decide_call,
    from_config,
    merge_rules,
)
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    return ConfigFolders((tmp_path / "etc",), (tmp_path / "xdg",), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def loaded(project: Path, places: ConfigFolders, text: str, user: str = "") -> LoadedConfig:
    places.user[-1].mkdir(exist_ok=True)
    (places.user[-1] / "config.toml").write_text(user)
    (project / "palimpsest.toml").write_text(text)
    return load(project, {}, folders=places)


def action(config: LoadedConfig, permission: str, pattern: str) -> str:
    rules = config.rules("permission", config.value.permission)
    return type(decide_call(permission, [pattern], merge_rules(DEFAULT_RULES, rules))).__name__


LOOSE = """
mode = "bypass"
instructions = ["docs/a.md", "~/.ssh/config"]
[permission]
read = "deny"
grep = "ask"
bash = { "*" = "allow", "rm *" = "deny" }
[budget]
usd = 1000
[agent.helper]
description = "helps"
[agent.helper.permission]
python = "allow"
edit = "deny"
"""


def test_what_tightens_holds_and_what_loosens_waits(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places, LOOSE, "[budget]\nusd = 10")

    assert action(config, "read", "a.py") == "Denied"
    assert action(config, "grep", "x") == "MustAsk"
    assert action(config, "bash", "rm -rf x") == "Denied"
    assert action(config, "bash", "ls") == "MustAsk"
    assert config.value.mode == "ask"
    assert config.value.budget.usd == 10
    assert config.value.agent["helper"].permission == ({"edit": "deny"},)
    assert config.value.instructions == (str(project / "docs/a.md"),)
    assert [setting.key for setting in config.untrusted_settings] == [
        "mode", "instructions", "permission", "budget", "agent.helper.permission",
    ]  # fmt: skip
    assert any(
        remark.startswith("Waits until you trust this project") for remark, _ in config.remarks()
    )


def test_what_is_trusted_once_holds_from_then_on(project: Path, places: ConfigFolders) -> None:
    loaded(project, places, LOOSE, "[budget]\nusd = 10")
    assert len(trust_project(project, {}, places)) == 5

    config = load(project, {}, folders=places)

    assert config.untrusted_settings == ()
    assert config.value.mode == "bypass"
    assert action(config, "bash", "ls") == "Allowed"
    assert config.value.budget.usd == 1000
    assert distrust_project(project, {}, places)
    assert load(project, {}, folders=places).value.mode == "ask"


def test_a_changed_file_asks_again(project: Path, places: ConfigFolders) -> None:
    loaded(project, places, '[permission]\nbash = { "git *" = "allow" }')
    trust_project(project, {}, places)

    config = loaded(project, places, '[permission]\nbash = "allow"')

    assert [setting.key for setting in config.untrusted_settings] == ["permission"]
    assert action(config, "bash", "ls") == "MustAsk"


def test_a_tight_file_needs_no_trust(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places, 'mode = "plan"\n[permission]\nbash = "deny"')

    assert (config.untrusted_settings, config.value.mode) == ((), "plan")
    assert trust_project(project, {}, places) == []


def test_a_question_does_not_soften_what_a_person_denied(
    project: Path, places: ConfigFolders
) -> None:
    user = '[permission]\nbash = "deny"'
    config = loaded(project, places, '[permission]\nbash = "ask"', user)

    assert action(config, "bash", "ls") == "Denied"
    assert [setting.key for setting in config.untrusted_settings] == ["permission"]


def test_a_broken_list_of_trust_trusts_nothing(project: Path, places: ConfigFolders) -> None:
    loaded(project, places, LOOSE)
    (places.user[-1] / "trusted.json").write_text("{")

    assert load(project, {}, folders=places).untrusted_settings
    trust_project(project, {}, places)
    assert load(project, {}, folders=places).untrusted_settings == ()


def test_the_user_s_own_files_need_no_trust(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places, "", 'mode = "bypass"\n[permission]\nbash = "allow"')

    assert config.value.mode == "bypass"
    assert decide_call("bash", ["ls"], from_config("allow", home="")) == Allowed()
    assert action(config, "bash", "ls") == "Allowed"


def admin(tmp_path: Path, text: str) -> ConfigFolders:
    (tmp_path / "system").mkdir()
    (tmp_path / "system/ipython_kernel_config.py").write_text(f"c = get_config()\n{text}\n")
    return ConfigFolders((), (tmp_path / "xdg",), tmp_path, admin=(tmp_path / "system",))


def test_an_administrator_trusts_folders_for_everybody(tmp_path: Path) -> None:
    courses, other = tmp_path / "courses/one", tmp_path / "courses-of-others"
    for folder in (courses, other):
        (folder / ".git").mkdir(parents=True)
        (folder / "palimpsest.toml").write_text('system = "Say yes."')
    (tmp_path / "link").symlink_to(courses)
    (tmp_path / "courses/foreign").symlink_to(other)
    places = admin(tmp_path, f"c.Palimpsest.trusted_folders = [{str(tmp_path / 'courses')!r}]")

    def said(folder: Path) -> str | None:
        found = load(folder, {}, folders=places)
        assert found.problems == ()
        return found.value.system

    assert said(courses) == said(tmp_path / "link") == "Say yes."
    assert said(other) is said(tmp_path / "courses/foreign") is None


def test_an_administrator_names_where_trust_is_kept(project: Path, tmp_path: Path) -> None:
    places = admin(tmp_path, f"c.Palimpsest.state_folder = {str(tmp_path / 'state/{user}')!r}")
    (project / "palimpsest.toml").write_text('system = "Say yes."')

    assert trust_project(project, {}, places)

    assert load(project, {}, folders=places).value.system == "Say yes."
    (path,) = (tmp_path / "state").glob("*/palimpsest/trusted.json")
    assert path.stat().st_mode & 0o777 == 0o600
    assert distrust_project(project, {}, places)
    assert load(project, {}, folders=places).value.system is None


@pytest.mark.parametrize("name", ["trusted_folders", "state_folder"])
def test_nobody_else_says_whom_to_trust(project: Path, places: ConfigFolders, name: str) -> None:
    config = loaded(project, places, f'{name} = ["/"]', f'{name} = ["/"]\nsystem = "x"')

    assert (
        len(
            [
                problem
                for problem in config.problems
                if "for the organisation's file only" in problem
            ]
        )
        == 2
    )
    assert config.trusted_by == ""


def test_settings_that_go_too_deep_stop_nothing(project: Path, places: ConfigFolders) -> None:
    deep = '{"a":' * 960 + "1" + "}" * 960
    (project / "palimpsest.json").write_text(f'{{"system": "x", "mcp": {{"a": {deep}}}}}')

    trust_project(project, {}, places)

    assert load(project, {}, folders=places).value.system in (None, "x")
