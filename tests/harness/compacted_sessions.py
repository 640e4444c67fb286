"""Helpers for tests with sessions that overflow a small window, and with their compactions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness, ask

from palimpsest.context.presets import PRESETS
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedAnswer, ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import CompactionPart, TextPart
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(ref=ModelRef(provider="scripted", name="model"), window=8_000, output_limit=1_000)
LONG = "The mean of bill_length_mm is 43.92. " * 280
"""About 3,400 tokens: two of them fit the window, and little else."""
PALIMPSEST = PRESETS["palimpsest"]
DEFAULT = PALIMPSEST.model_copy(
    update={
        "guard": PALIMPSEST.guard.model_copy(update={"hard_minimum": 4_000}),
        "prune": PALIMPSEST.prune.model_copy(update={"rule": "none"}),
    }
)
"""The default policy, changed to accept a window as small as ours, and without pruning."""
SUMMARY = (
    "## Goal\n- know the penguins\n\n## Numbers and facts\n- bill_length_mm: 43.92\n"
    + "- none\n" * 40
)


def make_harness(
    tmp_path: Path, *answers: ScriptedAnswer, policy: Policy | None = None, few: bool = True
) -> tuple[SessionHarness, ScriptedModel]:
    model = ScriptedModel(*answers)
    harness = SessionHarness(tmp_path, model, info=INFO, few=few)
    object.__setattr__(harness.services.rules, "policy", policy or DEFAULT)
    return harness, model


async def talked(
    tmp_path: Path, *answers: ScriptedAnswer, policy: Policy | None = None, few: bool = True
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session whose window is nearly filled by two long answers."""
    harness, model = make_harness(
        tmp_path, says(LONG), says(LONG), *answers, policy=policy, few=few
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    return harness, model, session


def by_purpose(request: ModelRequest) -> ModelAnswer:
    """Answer summary requests with a summary, and others with a sentence."""
    return says(SUMMARY if request.purpose == "compaction" else "It is 43.92.")


def summaries(messages: Sequence[Message]) -> list[AssistantMessage]:
    infos = [message.info for message in messages]
    return [info for info in infos if isinstance(info, AssistantMessage) and info.summary]


def markers(messages: Sequence[Message]) -> list[CompactionPart]:
    return [part for m in messages for part in m.parts if isinstance(part, CompactionPart)]


def sent(model: ScriptedModel, number: int) -> str:
    return "\n".join(str(message["content"]) for message in model.requests[number].messages)


def words(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, TextPart) and part.text]


def with_compact(policy: Policy = DEFAULT, **update: Any) -> Policy:
    return policy.model_copy(update={"compact": policy.compact.model_copy(update=update)})


def with_recovery(policy: Policy = DEFAULT, **update: Any) -> Policy:
    return policy.model_copy(update={"recovery": policy.recovery.model_copy(update=update)})


async def assert_rebuilt(
    harness: SessionHarness, session: LiveSession, *models: ScriptedModel
) -> None:
    """Assert that every request a model received is rebuilt from the log, in order and to the byte."""
    records = await harness.records(session)
    rebuilt = list(rebuild_all(harness.store, session.id, records))
    assert all(one.matches for one in rebuilt)
    for model in models:
        received = [list(request.messages) for request in model.requests]
        ref = model.requests[0].model.ref
        ours = [one for one in rebuilt if one.record.model.ref == ref] if models[1:] else rebuilt
        assert [list(one.request.messages) for one in ours] == received
