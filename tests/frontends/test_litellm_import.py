"""litellm, whose import takes two seconds of CPU and 100 MB, is imported only when a model needs it."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel

from palimpsest.app.wiring import App
from palimpsest.model.adapter import litellm_model
from palimpsest.public.session_object import open_session

KEY = {"OPENAI_API_KEY": "sk-test-openai-0123456789"}
GEMINI = {"GEMINI_API_KEY": "test-gemini-0123456789"}
SERVER = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}


class Noted(litellm_model.LitellmLoader):
    """Records that litellm was requested, and imports nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.imports: list[str] = []

    def _import(self) -> Any:
        raise AssertionError("Nothing is imported here.")

    def preload(self) -> Any:
        self.imports.append("litellm")


@pytest.mark.slow
def test_a_kernel_in_which_the_rehearsal_answers_never_imports_litellm(tmp_path: Path) -> None:
    with Kernel(cwd=tmp_path, env=dict.fromkeys([*KEY, "ANTHROPIC_API_KEY"], "")) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        kernel.run("weights = [3, 4, 5]")
        answered = kernel.run("%agent -y What is the mean of weights?").markdown()
        loaded = kernel.value(
            "[m for m in ('litellm', 'openai') if m in __import__('sys').modules]"
        )

    assert "4" in answered
    assert loaded == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "settings", "needed"),
    [
        ({}, {}, False),
        (KEY, {}, False),
        (SERVER, {}, False),
        (SERVER, {"model": "gemini/gemini-3-pro"}, True),
        (GEMINI, {}, True),
        (GEMINI, {"model": "anthropic/claude-sonnet-4-5"}, False),
        (KEY, {"model": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"}, True),
        ({}, {"model": "anthropic/claude-sonnet-4-5"}, False),
        ({}, {"models": {"own/qwen": {"api_base": "http://127.0.0.1:1/v1"}}}, False),
        ({}, {"models": {"gemini/mine": {"api_base": "http://127.0.0.1:1/v1"}}}, True),
        ({}, {"models": {"openai/gpt-5.1": {"window": 100_000}}}, False),
        ({**KEY, **GEMINI}, {"model": "rehearsal/rules"}, False),
        ({}, {"model": "not a model's name"}, False),
    ],
)
def test_an_application_imports_it_early_where_the_expected_model_needs_it(
    environment: dict[str, str],
    settings: dict[str, Any],
    needed: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definitions = Noted()
    monkeypatch.setattr(litellm_model, "LIBRARY", definitions)
    app = App(
        start=tmp_path, environment={"HOME": str(tmp_path), **environment}, overrides=settings
    )

    app.preload()
    app.close()

    assert definitions.imports == ["litellm"][: int(needed)]


@pytest.mark.parametrize("needed", [True, False])
def test_a_script_begins_to_import_it_with_its_session(
    needed: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definitions = Noted()
    monkeypatch.setattr(litellm_model, "LIBRARY", definitions)
    model = "gemini/gemini-3-pro" if needed else "anthropic/claude-sonnet-4-5"
    app = App(
        start=tmp_path, environment={"HOME": str(tmp_path), **GEMINI}, overrides={"model": model}
    )
    before = list(definitions.imports)

    open_session(app)
    app.close()

    assert (before, definitions.imports) == ([], ["litellm"][: int(needed)])
