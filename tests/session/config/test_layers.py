"""Settings files are merged in order, and an invalid value is reported without affecting the rest."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.app.loaded_config import LoadedConfig, load, trust_project
from palimpsest.session.config.setting_files import ConfigFolders
from palimpsest.session.config.settings import Config

KEY = "sk-ant-" + "a1B2c3" * 5


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    return ConfigFolders((tmp_path / "etc",), (tmp_path / "jupyter", tmp_path / "xdg"), tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "project"
    (folder / "notebooks").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def loaded(
    project: Path,
    places: ConfigFolders,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> LoadedConfig:
    trust_project(project / "notebooks", environment or {}, places)
    return load(project / "notebooks", environment or {}, overrides, folders=places)


def test_is_built_in_when_nothing_is_written(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places)

    assert config.value == Config()
    assert config.problems == ()
    assert ("policy.base", "palimpsest", "built in") in config.rows()
    assert ("tool_output.max_lines", "2000", "policy palimpsest") in config.rows()


def test_lays_the_layers_over_each_other_in_order(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    order = [
        ("etc/config.toml", "organisation"),
        ("jupyter/config.json", "user"),
        ("jupyter/config.jsonc", "user"),
        ("xdg/config.toml", "user"),
        ("named.toml", "PALIMPSEST_CONFIG"),
        ("work/project/palimpsest.toml", "project"),
        ("work/project/palimpsest.jsonc", "project"),
        ("work/project/.palimpsest/config.toml", "project"),
        ("work/project/.palimpsest/config.jsonc", "project"),
        ("work/project/notebooks/palimpsest.json", "project"),
        ("work/project/notebooks/palimpsest.jsonc", "project"),
    ]
    environment = {"PALIMPSEST_CONFIG": str(tmp_path / "named.toml")}
    write(tmp_path / "named.toml", "")
    for name, kind in order:
        json_text = f'{{"model": "a/{name}", // a comment\n}}'
        text = f'model = "a/{name}"' if name.endswith("toml") else json_text
        write(tmp_path / name, text)

        config = loaded(project, places, environment)

        assert config.value.model == f"a/{name}"
        assert config.origins["model"].startswith(kind)
        assert config.problems == ()

    environment["PALIMPSEST_CONFIG_CONTENT"] = '{"model": "a/inline"}'
    assert loaded(project, places, environment).value.model == "a/inline"
    assert loaded(project, places, environment, {"model": "a/option"}).value.model == "a/option"
    assert loaded(project, places, environment, {"model": None}).value.model == "a/inline"


def test_reads_json_with_comments(project: Path, places: ConfigFolders) -> None:
    text = """{
      // the server's address holds two slashes, "and a quote"
      "models": {"openai/mine": {"api_base": "http://localhost:8000/v1", "window": 8192,},},
      /* a longer
         remark */ "max_steps": 7,
    }"""
    write(project / "palimpsest.json", text)

    config = loaded(project, places)

    assert config.problems == ()
    assert config.value.models["openai/mine"].api_base == "http://localhost:8000/v1"
    assert config.value.models["openai/mine"].window == 8192
    assert config.value.max_steps == 7


def test_names_a_setting_that_is_not_there_and_the_one_that_was_meant(
    project: Path, places: ConfigFolders
) -> None:
    write(project / "palimpsest.toml", 'modle = "a/b"\n[tool_output]\nmax_line = 3\nmax_bytes = 9')

    config = loaded(project, places)

    assert config.value.tool_output.max_bytes == 9
    where = "project's file ~/work/project/palimpsest.toml"
    assert config.problems == (
        f"{where}: there is no setting 'modle'; did you mean 'model'?",
        f"{where}: there is no setting 'tool_output.max_line'; did you mean 'max_lines'?",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_steps = 'many'", "max_steps should be a whole number, but it is 'many'."),
        ("max_steps = true", "max_steps should be a whole number, but it is True."),
        ("max_steps = 0", "max_steps should be greater than 0, but it is 0."),
        ("tool_output = 3", "tool_output must be a table of settings, but is 3."),
        ("models = ['a']", "models must be a table of settings, but is ['a']."),
        ("agent.build = 'x'", "agent.build must be a table of settings, but is 'x'."),
        ("tool_output.direction = 'up'", "tool_output.direction should be 'head', 'tail' or"),
        ("instructions = ['a', 3]", "instructions at position 1 should be a valid string"),
        ("permission.bash = 'maybe'", "permission.bash should be 'allow', 'ask' or 'deny', but"),
        ("permission.bash.'git *' = 5", """permission.bash."git *" should be 'allow', 'ask'"""),
        ("permission.bash = 'denny'", "but it is 'denny'; did you mean 'deny'?"),
        ("small_model = 5", "small_model should be a valid string, but it is 5."),
        ("retention.texts = -1", "retention.texts should be greater than or equal to 0, but it"),
        ("subagent_depth = -1", "subagent_depth should be greater than or equal to 0, but it is"),
        ("model = [", "is not valid TOML"),
        ("locked = ['model']", "locked is for the organisation's file only."),
    ],
)
def test_says_what_is_wrong_and_loads_the_rest(
    project: Path, places: ConfigFolders, text: str, words: str
) -> None:
    write(project / "palimpsest.toml", text)
    write(project / "notebooks" / "palimpsest.toml", 'small_model = "a/b"')

    config = loaded(project, places)

    assert config.value == Config(small_model="a/b")
    assert len(config.problems) == 1
    assert words in config.problems[0]
    assert "~/work/project/palimpsest.toml" in config.problems[0]


def test_a_slip_in_one_rule_lifts_no_deny_beside_it(project: Path, places: ConfigFolders) -> None:
    write(project / "palimpsest.toml", "[permission]\nbash = 'deny'\nedit = 'asq'\n")

    config = loaded(project, places)

    assert config.value.permission == ({"bash": "deny"},)
    (problem,) = config.problems
    assert "permission.edit should be 'allow', 'ask' or 'deny', but it is 'asq'" in problem


def test_a_hook_that_is_none_is_told_from_a_list(project: Path, places: ConfigFolders) -> None:
    own = write(project / "own.toml", "[hooks]\nnope = 'a:b'\n")

    config = loaded(project, places, {"PALIMPSEST_CONFIG": str(own)})

    (problem,) = config.problems
    assert "hooks should be 'prompt', 'system', 'tool_before'" in problem


def test_no_number_of_any_setting_stops_the_rest(project: Path, places: ConfigFolders) -> None:
    """Every numeric setting is set to -1 in turn: invalid values are reported, and the rest is loaded."""
    numbers = [key for key, value, _ in load(project, {}, folders=places).rows() if key and value]
    text = "".join(f"{key} = -1\n" for key in numbers)
    written = write(project / "palimpsest.toml", text)

    config = loaded(project, places, {"PALIMPSEST_CONFIG": str(written)})

    assert config.value.retention.texts == 1.0
    assert len(config.problems) > len(numbers) / 2


@pytest.mark.parametrize(
    "text",
    [
        f'api_key = "{KEY}"',
        f'openai_api_key = "{KEY}"',
        f'[models."openai/gpt-5"]\napi_key = "{KEY}"',
        f'model = "{KEY}"',
        f'system = "use {KEY}"',
        f'max_steps = "{KEY}"',
        f'instructions = ["{KEY}"]',
        'token = "short"',
    ],
)
def test_refuses_keys_and_never_repeats_them(
    project: Path, places: ConfigFolders, text: str
) -> None:
    write(project / "palimpsest.toml", text)

    config = loaded(project, places)

    assert config.value.model_dump(exclude={"models"}) == Config().model_dump(exclude={"models"})
    assert len(config.problems) == 1
    assert "put it in the environment" in config.problems[0]
    assert KEY not in str((config.rows(), config.remarks()))
    assert "short" not in config.problems[0]


@pytest.mark.parametrize(("text", "meant"), [("true", "auto"), ("false", "disabled")])
def test_the_older_form_of_share_means_what_it_meant(
    project: Path, places: ConfigFolders, text: str, meant: str
) -> None:
    write(places.user[0] / "config.json", f'{{"share": {text}}}')

    config = loaded(project, places)

    assert (config.value.share, config.problems) == (meant, ())
    option = load(project, {}, {"share": text == "true"}, folders=places)
    assert (option.value.share, option.problems) == (meant, ())


def test_a_flag_shares_by_itself(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places, {"PALIMPSEST_AUTO_SHARE": "1"})

    assert (config.value.share, config.origins["share"]) == ("auto", "PALIMPSEST_AUTO_SHARE")


def test_keeps_permission_tables_whole_and_in_order(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    """A table merged by key would put a file's ``*`` before a rule that it should override."""
    write(tmp_path / "xdg/config.toml", '[permission]\n"*" = "allow"\nbash = "deny"')
    write(project / "palimpsest.toml", '[permission.bash]\n"git *" = "allow"')

    trust_project(project / "notebooks", {}, places)
    config = loaded(project, places, {"PALIMPSEST_PERMISSION": "ask"})

    assert config.value.permission == (
        {"*": "allow", "bash": "deny"},
        {"bash": {"git *": "allow"}},
        "ask",
    )
    assert config.origins["permission"] == (
        "user's file ~/xdg/config.toml, then project's file ~/work/project/palimpsest.toml, "
        "then PALIMPSEST_PERMISSION"
    )


def test_reads_a_permission_table_from_the_environment(
    project: Path, places: ConfigFolders
) -> None:
    environment = {"PALIMPSEST_PERMISSION": json.dumps({"bash": {"ls": "allow"}})}

    assert loaded(project, places, environment).value.permission == ({"bash": {"ls": "allow"}},)


def test_collects_instructions_of_all_layers_next_to_their_files(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    write(tmp_path / "xdg/config.toml", 'instructions = ["style.md"]')
    write(project / "palimpsest.toml", 'instructions = ["docs/*.md", "~/x.md"]')

    trust_project(project / "notebooks", {}, places)
    config = loaded(project, places)

    assert config.value.instructions == (
        str(tmp_path / "xdg/style.md"),
        str(project / "docs/*.md"),
        str(Path("~/x.md").expanduser()),
    )


def test_holds_what_the_organisation_locked(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    write(tmp_path / "etc/config.toml", 'locked = ["model", "tool_output"]\nmodel = "org/model"')
    write(project / "palimpsest.toml", 'model = "a/b"\ntool_output.max_lines = 3\nmax_steps = 4')

    config = loaded(project, places, overrides={"model": "c/d"})

    assert config.value.model == "org/model"
    assert config.value.tool_output.max_lines is None
    assert config.value.max_steps == 4
    assert len(config.problems) == 3
    assert "model is fixed by the organisation's file ~/etc/config.toml" in config.problems[0]


def test_sends_no_key_to_an_address_that_came_with_the_project(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    text = '[models."openai/gpt-5"]\napi_base = "https://elsewhere.example/v1"'
    write(project / "palimpsest.toml", text)

    config = loaded(project, places)

    assert "openai/gpt-5" not in config.value.models
    assert "your key would go there" in config.problems[0]
    write(tmp_path / "xdg/config.toml", text)
    base = loaded(project, places).value.models["openai/gpt-5"].api_base
    assert base == "https://elsewhere.example/v1"


def test_looks_no_further_up_than_the_repository(
    project: Path, places: ConfigFolders, tmp_path: Path
) -> None:
    write(tmp_path / "work/palimpsest.toml", 'model = "outside/x"')

    assert loaded(project, places).value.model is None


def test_says_that_a_named_file_is_not_there(project: Path, places: ConfigFolders) -> None:
    config = loaded(project, places, {"PALIMPSEST_CONFIG": "gone.toml"})

    assert config.problems == (
        "PALIMPSEST_CONFIG ~/work/project/notebooks/gone.toml is not there.",
    )


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root to chown")
def test_passes_over_a_file_that_a_stranger_left_in_a_shared_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    os.chown(write(tmp_path / "palimpsest.toml", 'model = "theirs/x"'), 12345, 12345)
    nowhere = ConfigFolders((), (), tmp_path)
    trust_project(tmp_path / "mine", {}, nowhere)
    assert load(tmp_path / "mine", {}, folders=nowhere).value.model == "theirs/x"

    tmp_path.chmod(0o1777)

    config = load(tmp_path / "mine", {}, folders=nowhere)
    assert config.value.model is None
    assert "belongs to another user" in config.problems[0]


def test_survives_a_file_that_is_no_text(project: Path, places: ConfigFolders) -> None:
    (project / "palimpsest.toml").write_bytes(b"\xff\xfe\x00")
    (project / "palimpsest.json").mkdir()

    config = loaded(project, places)

    assert config.value == Config()
    assert len(config.problems) == 2


def test_shows_every_value_and_where_it_came_from(project: Path, places: ConfigFolders) -> None:
    text = '[models."openai/a|b"]\nwindow = 9000\nprice = {input = 1, output = 2.5}\n[oops]\n'
    write(project / "palimpsest.toml", text)

    config = loaded(project, places, overrides={"max_steps": 3})

    origin = "project's file ~/work/project/palimpsest.toml"
    assert {
        ("models.openai/a|b.window", "9000", origin),
        ("models.openai/a|b.price.output", "2.5", origin),
        ("max_steps", "3", "option"),
        ("model", "", "built in"),
    } <= set(config.rows())
    assert "What is wrong" in dict(config.remarks())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*Config.model_fields, "build", "*", "window", "x.y"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_never_raises_whatever_is_written(content: Any) -> None:
    environment = {"PALIMPSEST_CONFIG_CONTENT": json.dumps({"model": "a/b"} | {"agent": content})}
    nowhere = ConfigFolders((), (), Path("/nowhere"))

    config = load(Path("/nowhere/at/all"), environment, folders=nowhere)

    assert config.value.model == "a/b"
    config.rows()
    config.remarks()
