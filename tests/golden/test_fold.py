"""Histories are folded at the last compaction as the recorded OpenCode does, under each preset.

The default policy differs on purpose in one case: the newest recorded agent moves the summary of a
compaction that kept a tail to the front, and drops what it covers, even while that summary is unfinished.
By default only a good summary shortens the history.
"""

from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.upstream import message

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.visible_messages import fold, good_summaries, marker
from palimpsest.transcript.messages import Messages


def messages_of(recorded: list[dict[str, Any]]) -> Messages:
    return tuple(message(one) for one in recorded)


def newest_tail_lacks_a_good_summary(messages: Messages) -> bool:
    """Return whether the newest marker that kept a tail has no good summary."""
    summaries = good_summaries(messages)
    for one in reversed(messages):
        compaction = marker(one)
        if compaction is not None and compaction.tail_start_id is not None:
            return one.id not in summaries
    return False


@pytest.mark.parametrize(
    ("recording", "preset"),
    [
        ("filter_compacted", "opencode-1.18"),
        ("seed-era-1.1.34/filter_compacted", "opencode-1.1"),
        ("seed-era-1.1.65/filter_compacted", "opencode-1.1"),
    ],
)
def test_every_recorded_history_is_folded_alike(recording: str, preset: str) -> None:
    sessions = load("opencode", "sessions")
    recorded = load("opencode", recording)

    ours = {
        name: [one.id for one in fold(messages_of(sessions[name]), preset_policy(preset).compact)]
        for name in recorded
    }

    assert ours == {name: case["ids"] for name, case in recorded.items()}


def test_the_default_differs_only_where_the_newest_tail_lacks_a_good_summary() -> None:
    sessions = load("opencode", "sessions")
    recorded = load("opencode", "filter_compacted")

    ours, theirs, apart = {}, {}, 0
    for name, case in recorded.items():
        messages = messages_of(sessions[name])
        folded = [one.id for one in fold(messages)]
        if newest_tail_lacks_a_good_summary(messages):
            apart += 1
            assert folded == [one.id for one in messages]
            continue
        ours[name], theirs[name] = folded, case["ids"]

    assert ours == theirs
    assert len(ours) > 10 * apart
