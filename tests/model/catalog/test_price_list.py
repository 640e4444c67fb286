"""The list of prices that is shipped tells what litellm's own does, where litellm is not installed."""

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_info import _from_table, model_info
from palimpsest.transcript.values import ModelRef

ROOT = Path(__file__).resolve().parents[3]
WITHOUT = """
import sys
sys.modules["litellm"] = None
from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.model_info import model_info
assert litellm_table.table_path() == litellm_table.COPY
print(litellm_table.list_name())
for name in sys.argv[1:]:
    print(model_info(name, environment={}).model_dump_json())
"""
NAMED = (
    "anthropic/claude-sonnet-4-5", "claude-opus-4-8", "openai/gpt-5.1", "gemini/gemini-2.5-pro", "deepseek/deepseek-chat",
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "vertex_ai/claude-sonnet-4-5", "inf-codex/gpt-5.4", "gw/azure-gpt-4o",
    "anthropic/claude-newfamily-7", "openai/no-such-model",
)  # fmt: skip
"""Models that are listed, meant behind a gateway, known by their family alone, and not known."""


def script() -> Any:
    spec = spec_from_file_location("price_list_script", ROOT / "scripts" / "price_list.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_shipped_list_is_that_of_the_installed_litellm() -> None:
    assert script().problem() == ""


def test_the_shipped_list_has_the_limits_abilities_and_prices_of_every_model() -> None:
    listed = json.loads(litellm_table.table_path().read_text(encoding="utf-8"))
    shipped = json.loads(litellm_table.COPY.read_text(encoding="utf-8"))
    chat = {key: one for key, one in listed.items() if one.get("mode") in litellm_table.CHAT_MODES}
    ref = ModelRef(
        provider="openai", name="any"
    )  # whose limits are read in every way that there is

    differ = [
        key
        for key, one in chat.items()
        if _from_table(ref, one, None) != _from_table(ref, shipped[key], None)
    ]

    assert differ == []
    assert len(chat) > 3_000


@pytest.mark.soak  # with each commit the shipped list has what litellm's has, beside it; this adds a process without litellm
@pytest.mark.slow
def test_without_litellm_a_model_is_known_by_the_shipped_list() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *NAMED],
        env={"PYTHONPATH": str(ROOT / "kernel_ext")},
        capture_output=True,
        text=True,
        check=True,
    )

    words, *found = done.stdout.splitlines()
    assert found == [model_info(name, environment={}).model_dump_json() for name in NAMED]
    made = json.loads(litellm_table.COPY.read_text(encoding="utf-8"))[litellm_table.COPY_ORIGIN]
    assert words == f"the list of prices of litellm {made['litellm']}, copied on {made['date']}"
