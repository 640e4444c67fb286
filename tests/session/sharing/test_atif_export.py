"""A session's trajectory has its subagents, and says what was shown less of and before which answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.sample_session import SampleSession, everything
from tests.store.record_builders import SESSION

from palimpsest.session.sharing.exports import export_session
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import UserError


def trajectory(store: Store, folder: Path) -> Any:
    made = export_session(store, SESSION, "atif", None, cwd=folder, environment={})
    assert made.path.name.endswith(".atif.json")
    return json.loads(made.path.read_text(encoding="utf-8"))


def test_a_session_becomes_steps_with_calls_outputs_and_sums(tmp_path: Path) -> None:
    store = MemoryStore()
    everything().write(store)

    made = trajectory(store, tmp_path)

    sources = [step["source"] for step in made["steps"]]
    assert made["schema_version"] == "ATIF-v1.7"
    assert made["extra"] == {"title": "How penguins differ"}
    assert sources[:4] == ["user", "agent", "system", "agent"]
    asked, called, reduced, _answered = made["steps"][:4]
    assert [part["type"] for part in asked["message"]] == ["text", "image"]
    assert [attachment["name"] for attachment in asked["extra"]["attachments"]] == ["sample.csv"]
    names = [call["function_name"] for call in called["tool_calls"]]
    assert names == ["read", "python", "edit", "bash"]
    assert called["metrics"] == {
        "prompt_tokens": 2000,
        "completion_tokens": 240,
        "cached_tokens": 800,
        "cost_usd": 0.0123,
    }
    failed = called["observation"]["results"][-1]
    assert (failed["content"], failed["extra"]["is_error"]) == ("exit code 2", True)
    assert reduced["extra"]["context_management"] == {
        "type": "pruning",
        "boundary": "truncate",
        "outputs": [
            {
                "tool_call_id": called["tool_calls"][0]["tool_call_id"],
                "shown": "[Old tool result content cleared]",
                "rule": "prune/default",
            }
        ],
    }
    compaction = next(
        step
        for step in made["steps"]
        if step["message"].__class__ is str and "summary" in step["message"]
    )
    assert compaction["observation"]["results"][0]["content"].startswith("## Goal")


def with_child(parent: str) -> Store:
    store = MemoryStore()
    session = SampleSession()
    session.prompt("Ask a helper.").answer()
    session.call("task", {"prompt": "count"}, "Three.", metadata={"task": "ses_child"})
    session.write(store)
    child = SampleSession("ses_child", "Counting")
    child.session = child.session.model_copy(update={"parent_id": parent})
    child.events[0] = type(child.events[0])(session=child.session)  # type: ignore[call-arg]  # its first event
    child.prompt("count").answer()
    child.part(type="text", text="Three.")
    child.write(store)
    return store


def test_subagents_are_in_it_and_named_by_their_calls(tmp_path: Path) -> None:
    made = trajectory(with_child(SESSION), tmp_path)

    (result,) = made["steps"][1]["observation"]["results"]
    assert result["subagent_trajectory_ref"] == [{"trajectory_id": "ses_child"}]
    (child,) = made["subagent_trajectories"]
    assert child["trajectory_id"] == "ses_child"
    assert [step["message"] for step in child["steps"]] == ["count", "Three."]


def test_a_session_that_a_log_only_claims_as_its_own_is_not_written_along(tmp_path: Path) -> None:
    made = trajectory(with_child("ses_other"), tmp_path)

    assert "subagent_trajectories" not in made
    assert "Counting" not in json.dumps(made)


def test_a_session_without_a_message_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    SampleSession().write(store)

    with pytest.raises(UserError, match="no message yet"):
        trajectory(store, tmp_path)
