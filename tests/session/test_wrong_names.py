"""An unknown model, reasoning effort or file is reported when it is given or configured."""

from pathlib import Path

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.loaded_config import ConfigFolders, load
from palimpsest.app.wiring import App
from palimpsest.model.catalog.model_check import check_effort, check_model, closest_name
from palimpsest.model.script import says
from palimpsest.public.session_object import Session
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelInfo, ModelRef


def session_of(app: App) -> Session:
    return Session(app, app.engine.submit(app.workspace.current(None)).result(LAST_RESORT_SECONDS))


def found(model_id: str, api_base: str | None = None) -> ModelInfo:
    provider, _, name = model_id.partition("/")
    ref = ModelRef(provider=provider, name=name)
    return ModelInfo(ref=ref, window=8_000, output_limit=1_000, api_base=api_base)


@pytest.mark.parametrize(
    ("model_id", "meant"),
    [
        ("opnai/gpt-4o", "'openai'"),
        ("openai/gpt-4o-mni", "'openai/gpt-4o-mini'"),
        ("anthropic/claude-sonet-4-5", "'anthropic/claude-sonnet-4-5'"),
    ],
)
def test_a_slip_in_a_models_name_is_refused_with_the_nearest_right_one(
    model_id: str, meant: str
) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        check_model(found(model_id), (), lambda _: ())


def test_a_new_model_and_one_that_the_settings_name_are_taken() -> None:
    check_model(found("openai/gpt-5.9"), (), lambda _: ())
    check_model(found("mine/some"), ("mine/some",), lambda _: ())
    check_model(found("mine/some", "http://h/v1"), (), lambda _: ())
    assert closest_name("gpt-5.2", ["gpt-5.1"]) is None


def test_a_server_of_ones_own_says_what_it_has() -> None:
    with pytest.raises(ConfigError, match="has no model 'qwen9'; did you mean 'qwen3'"):
        check_model(found("openai/qwen9", "http://h/v1"), (), lambda _: ("qwen3", "llama-4"))


def test_a_reasoning_effort_that_a_model_lacks_is_refused() -> None:
    check_effort("high", ModelRef(provider="openai", name="gpt-5.1"))
    with pytest.raises(ConfigError, match="no variant 'hgih'; did you mean 'high'"):
        check_effort("hgih")


@pytest.mark.parametrize("options", [{"variant": "hgih"}, {"model": "gpt-nonsense"}])
def test_a_wrong_option_is_refused_once_and_does_not_stay(
    tmp_path: Path, options: dict[str, str]
) -> None:
    app = App(
        start=tmp_path,
        model=lambda _info: ScriptedModel(says("Hello.")),
        environment={"HOME": str(tmp_path)},
        overrides={"model": "my/model", "titles": False},
    )
    try:
        session = session_of(app)
        with pytest.raises(ConfigError):
            session.prompt("Hello", **options)
        assert session.prompt("Hello").text == "Hello."
    finally:
        app.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('model = "opnai/gpt-4o"', "model: There is no provider 'opnai'; did you mean 'openai'?"),
        ('small_model = "gpt-nonsense"', "small_model: There is no model 'gpt-nonsense'"),
        ('[compaction]\nmodel = "zzz"', "compaction.model: There is no model 'zzz'"),
        ('[agent.build]\nmodel = "zzz"', "agent.build.model: There is no model 'zzz'"),
        ('variant = "hgih"', "variant: There is no variant 'hgih'; did you mean 'high'?"),
        ('instructions = ["nope.md"]', "nope.md'"),
        pytest.param(f'instructions = ["{"x" * 5_000}.md"]', "There is no file", id="longest name"),
        ('mode = "aks"', "did you mean 'ask'"),
        ("budget = {usd = -1}", "budget.usd should be greater than 0"),
    ],
)
def test_a_setting_that_names_what_is_not_there_is_told(
    tmp_path: Path, text: str, told: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "config.toml").write_text(text)
    places = ConfigFolders(organisation_folders=(), user=(own,), home=tmp_path)

    problems = load(tmp_path, {"HOME": str(tmp_path)}, folders=places).problems

    assert [problem for problem in problems if told in problem], problems
    assert all("own/config.toml" in problem for problem in problems)
