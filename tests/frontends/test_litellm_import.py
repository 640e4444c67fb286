"""litellm, whose import takes two seconds of CPU and 100 MB, is imported only when a model needs it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.kernel import Kernel
from tests.waiting import eventually

from palimpsest.app.wiring import App
from palimpsest.model.adapter import litellm_model
from palimpsest.model.script import says
from palimpsest.public.session_object import open_session
from palimpsest.render.content.phrases import LOADING
from palimpsest.testing import FaultServer

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

    def preload(self, **_: object) -> Any:
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
    monkeypatch.setattr(litellm_model, "LOADER", definitions)
    app = App(
        start=tmp_path, environment={"HOME": str(tmp_path), **environment}, overrides=settings
    )

    app.preload_model()
    app.close()

    assert definitions.imports == ["litellm"][: int(needed)]


@pytest.mark.parametrize("needed", [True, False])
def test_a_script_begins_to_import_it_with_its_session(
    needed: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definitions = Noted()
    monkeypatch.setattr(litellm_model, "LOADER", definitions)
    model = "gemini/gemini-3-pro" if needed else "anthropic/claude-sonnet-4-5"
    app = App(
        start=tmp_path, environment={"HOME": str(tmp_path), **GEMINI}, overrides={"model": model}
    )
    before = list(definitions.imports)

    open_session(app)
    app.close()

    assert (before, definitions.imports) == ([], ["litellm"][: int(needed)])


WARNS = """import logging, warnings, litellm
asked = litellm.acompletion
async def warning(*given, **named):
    for module in ("litellm.main", "openai._base_client", "httpx._client"):
        for kind in (UserWarning, FutureWarning, ResourceWarning):
            warnings.warn_explicit("Old.", kind, module.replace(".", "/") + ".py", 1, module=module)
    logging.getLogger("LiteLLM").warning("Something is odd.")
    return await asked(*given, **named)
litellm.acompletion = warning
warnings.simplefilter("default", append=True)"""
LOADER = "__import__('palimpsest.model.adapter.litellm_model', fromlist=['_']).LOADER"
LOADED = f"({LOADER}._import_future is not None and {LOADER}._import_future.done())"
FRONT = "from palimpsest.ipython_extension import extension_of\nextension_of(get_ipython()).front()"
"""Waits until the extension is loaded."""


@pytest.fixture
def asked_through_litellm(tmp_path: Path) -> Iterator[tuple[Kernel, FaultServer]]:
    """A new kernel with the extension, whose model is asked through litellm."""
    with FaultServer(says("Hi."), says("Hi again.")) as server:
        settings = {
            "model": "openai/test",
            "models": {"openai/test": {"api_base": server.openai_base}},
            "direct": False,
            "titles": False,
        }
        env = {**KEY, "PALIMPSEST_CONFIG_CONTENT": json.dumps(settings)}
        with Kernel(cwd=tmp_path, env=env) as kernel:
            assert kernel.run("%load_ext palimpsest").status == "ok"
            kernel.run(FRONT)
            yield kernel, server


@pytest.mark.soak  # with each commit a page begins the import and waits for nothing, below; this adds litellm itself
@pytest.mark.slow
def test_a_kernel_imports_it_when_a_page_says_that_a_person_is_about_to_ask(
    asked_through_litellm: tuple[Kernel, FaultServer],
) -> None:
    kernel, server = asked_through_litellm
    before = kernel.value(f"({LOADER}._import_future, 'litellm' in __import__('sys').modules)")
    kernel.request(type="prepare")
    meanwhile = kernel.run("weights = [3, 4, 5]\nprint(sum(weights))")
    unfinished = kernel.value(f"not {LOADED}")
    # Waiting by the loader itself would begin the import, perhaps before the page's command does.
    kernel.run(f"import time\nwhile True not in {LOADER}._first_call_imports: time.sleep(0.05)")
    asked = kernel.run("%%agent -y\nHello")

    assert before == "(None, False)"
    assert (meanwhile.stream().strip(), unfinished) == ("12", "True")
    assert len(server.requests) == 1
    assert "Hi." in asked.markdown()
    assert not any(LOADING in str(message["content"]) for message in asked.messages)


@pytest.mark.soak  # with each commit tests/frontends/turn_output/test_terminal_output.py says it; this adds litellm itself, and a cell without its warnings
@pytest.mark.slow
def test_a_first_turn_says_that_it_waits_for_the_import(
    asked_through_litellm: tuple[Kernel, FaultServer],
) -> None:
    kernel, server = asked_through_litellm
    first = kernel.run("%%agent -y\nHello")
    assert kernel.run(WARNS).status == "ok"
    second = kernel.run("%%agent -y\nHello again")

    assert len(server.requests) == 2
    assert any(LOADING in str(message["content"]) for message in first.messages)
    assert LOADING not in first.markdown()  # it is over
    assert not any(LOADING in str(message["content"]) for message in second.messages)
    assert first.markdown().count("Hi.") == 1
    # Nor does a cell show what the library warns of, when it is imported and in a call.
    assert "Hi again." in second.markdown()
    assert [run.stream(name) for run in (first, second) for name in ("stderr", "stdout")] == [
        ""
    ] * 4


HELD = f"""import threading
gate = threading.Event()
{LOADER}._import_litellm = gate.wait"""
"""The import waits at a gate and imports nothing."""
BEGUN = f"{LOADER}._import_future is not None and not {LOADED}"


@pytest.mark.slow
def test_a_page_and_a_cell_that_is_being_written_begin_the_import_and_wait_for_nothing(
    tmp_path: Path,
) -> None:
    settings = json.dumps({"model": "openai/test", "direct": False, "titles": False})
    with Kernel(cwd=tmp_path, env={**KEY, "PALIMPSEST_CONFIG_CONTENT": settings}) as kernel:
        assert kernel.run("%load_ext palimpsest").status == "ok"
        kernel.run(FRONT)
        for begin in (
            lambda: kernel.request(type="prepare"),
            lambda: kernel.complete("%%agent -"),
        ):
            kernel.run(HELD)
            kernel.complete("import o")
            before = kernel.value(f"{LOADER}._import_future")
            begin()
            meanwhile = kernel.run("weights = [3, 4, 5]\nprint(sum(weights))")
            eventually(lambda: kernel.value(BEGUN) == "True")
            kernel.run(f"gate.set()\n{LOADER}.wait_for_litellm(60)\n{LOADER}._import_future = None")

            assert (before, meanwhile.stream().strip()) == ("None", "12")
