"""The system prompt has a header for the model's family and a body about this session."""

from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask, requested

from palimpsest.context.engine_text.system_prompt import HEADER, MODEL_GUIDANCE, prompt_header
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.provider_profile.profile import guidance_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-sonnet-5", "claude"),
        ("openrouter/anthropic/claude-3.5", "claude"),
        ("openai/gpt-5.1", "reasoning"),
        ("openai/gpt-5.1-codex", "codex"),
        ("groq/openai/gpt-oss-120b", "reasoning"),
        ("azure/gpt-4o", "gpt"),
        ("openai/o3-mini", "gpt"),
        ("gemini/gemini-3.5-flash", "gemini"),
        ("ollama/qwen3", "other"),
        ("ollama/pro1-chat", "other"),
    ],
)
def test_a_family_is_known_by_the_name_whoever_serves_it(model: str, family: str) -> None:
    assert guidance_of(model) == family


def test_a_header_is_what_is_said_to_all_and_to_the_family() -> None:
    assert prompt_header("anthropic/claude-sonnet-5") == f"{HEADER}\n{MODEL_GUIDANCE['claude']}"
    assert (
        len({prompt_header(f"p/{name}") for name in ("gpt-5", "gpt-4", "gemini-3", "claude", "x")})
        == 5
    )


async def test_two_parts_stay_the_same_bytes_while_files_and_days_change(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use metres.")
    model = ScriptedModel(calls("list"), says("One."), says("Two."))
    harness = SessionHarness(tmp_path, model, extra_system="Be kind.")
    session = await harness.session()

    await ask(session, "One?", system="Be brief.")
    (tmp_path / "AGENTS.md").write_text("Use feet.")
    harness.clock.now += 3 * 86_400_000
    await ask(session, "Two?", system="Be brief.")

    systems = [
        [m["content"] for m in request.messages if m["role"] == "system"]
        for request in model.requests
    ]
    assert systems[0] == systems[1] == systems[2]
    told = "\n\n".join(str(part) for part in systems[0])
    pieces = [
        HEADER,
        MODEL_GUIDANCE["other"],
        "scripted/model",
        str(tmp_path),
        "Use metres.",
        "Be kind.",
        "Be brief.",
    ]
    assert sorted(pieces, key=told.index) == pieces
    assert (
        len({event.request.system.sha256 for event in requested(await harness.records(session))})
        == 1
    )
