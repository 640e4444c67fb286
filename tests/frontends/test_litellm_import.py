"""litellm, whose import takes two seconds of CPU and 100 MB, is imported only when a model needs it."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel

from palimpsest.app.wiring import App
from palimpsest.model.adapter import litellm_model

KEY = {"OPENAI_API_KEY": "sk-test-openai-0123456789"}
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
    ("environment", "settings", "imports"),
    [
        ({}, {}, []),
        (KEY, {}, ["litellm"]),
        (SERVER, {}, ["litellm"]),
        ({}, {"model": "anthropic/claude-sonnet-4-5"}, ["litellm"]),
        ({}, {"models": {"own/qwen": {"api_base": "http://127.0.0.1:1/v1"}}}, ["litellm"]),
        ({}, {"models": {"openai/gpt-5.1": {"window": 100_000}}}, []),
        (KEY, {"model": "rehearsal/rules"}, []),
    ],
)
def test_an_application_imports_it_early_where_a_provider_is_likely_to_answer(
    environment: dict[str, str],
    settings: dict[str, Any],
    imports: list[str],
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

    assert definitions.imports == imports
