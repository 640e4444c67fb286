"""``%agent policy`` shows the context policy, changes it from the next request on, and resets it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.frontends.operation_text.policy_text import (
    difference_table,
    number_tables,
    policy_summary,
)
from palimpsest.transcript.context_values.policies import Policy

SETUP = """
from palimpsest.model.script import says
from tests.harness.kernel_session import load
harness = load(get_ipython(), *[says('Well.')] * 9)
"""


def test_what_differs_comes_first_with_who_said_so() -> None:
    policy = policy_with_changes(PRESETS["opencode-1.18"], {"prune.protect_tokens": 10_000})

    changes = difference_table(
        policy, {"policy.prune.protect_tokens": "project's file x"}, is_chosen=False
    )

    assert changes is not None
    assert changes.header == ("number", "value", "in opencode-1.18", "from", "meaning")
    assert changes.rows == [
        (
            "prune.protect_tokens",
            "10,000",
            "40,000",
            "project's file x",
            "Number of newest tokens of tool output that stay.",
        )
    ]
    assert "opencode-1.18 with 1 number changed, from the settings" in policy_summary(
        policy, is_chosen=False
    )
    assert difference_table(Policy(), {}, is_chosen=True) is None


def test_a_short_name_is_found_as_the_origin() -> None:
    policy = policy_with_changes(Policy(), {"truncate.max_lines": 10})

    changes = difference_table(policy, {"tool_output.max_lines": "user's file y"}, is_chosen=False)

    assert changes is not None
    assert changes.rows[0][3] == "user's file y"


def test_every_number_is_shown_with_its_meaning() -> None:
    shown = [row for section in number_tables(Policy()) for row in section.rows]

    assert ("prune.rule", "batch") in [row[:2] for row in shown]
    assert all(row[2] for row in shown)


OWN = """
import palimpsest
from palimpsest.live_policies.live_stage import live_policy
object.__setattr__(harness.services.rules, "policy_stage", live_policy)

@palimpsest.policy
def newest_one(view):
    return [palimpsest.policies.clear(index) for index in view.outputs[:-1]]
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with Kernel(cwd=tmp_path) as kernel:
        assert kernel.client.run(SETUP).status == "ok"
        yield kernel


@pytest.mark.slow
def test_changes_the_policy_of_the_next_request(kernel: Kernel) -> None:
    policy = """
from palimpsest.recordings.reconstruction.requests import policy_of, requests
session = harness.engine.submit(harness.workspace.current(None)).result()
session.journal.flush_sync()
policies = [policy_of(harness.services.store, one) for one in requests(harness.services.store, session.id)]
"""
    kernel.client.run("%agent One.")

    chosen = kernel.client.run("%agent policy opencode-1.18 prune.protect_tokens=12000")
    kernel.client.run("%agent Two.")
    shown = kernel.client.run("%agent policy")
    kernel.client.run("%agent policy default")
    kernel.client.run("%agent Three.")

    assert "opencode-1.18 with 1 number changed, chosen for this session" in chosen.markdown()
    assert "`prune.protect_tokens` | 12,000 | 40,000 | this session" in chosen.markdown()
    assert "`truncate.max_bytes` | 51,200" in shown.markdown()
    kernel.client.run(policy)
    names = kernel.client.value("[(p.name, p.prune.protect_tokens) for p in policies]")
    wanted = [("palimpsest", 10_000), ("opencode-1.18", 12_000), ("palimpsest", 10_000)]
    assert names == str(wanted)


@pytest.mark.slow
def test_a_function_of_the_users_is_chosen_by_its_name(kernel: Kernel) -> None:
    kernel.client.run(OWN)

    chosen = kernel.client.run("%agent policy newest_one")
    shown = kernel.client.run("%agent policy")
    ended = kernel.client.run("%agent policy default")

    for said in (chosen, shown):
        assert "Before it acts your policy newest" in said.markdown().replace("\\", "")
    assert "Before it acts" not in ended.markdown()


@pytest.mark.slow
def test_wrong_words_get_one_sentence_and_change_nothing(kernel: Kernel) -> None:
    run = kernel.client.run("%agent policy prune.protect_token=3")

    words = str(run.reply["content"]["evalue"])
    assert "There is no number 'prune.protect_token'" in words
    assert "did you mean prune.protect_tokens?" in words
    assert "Traceback" not in str(run.messages)
    assert (
        "palimpsest, as it comes, from the settings"
        in kernel.client.run("%agent policy").markdown()
    )
