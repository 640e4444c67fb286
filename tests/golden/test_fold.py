"""Histories are cut at the last good compaction, as the recorded agent cuts them.

One difference on purpose: the recorded agent moves the summary of a compaction that kept a tail
to the front, and drops what it covers, even while that summary is unfinished. A summary that is
not good never cuts history here (DESIGN.md 4), so such a history stays whole.
"""

from typing import Any

from tests.golden.data import load
from tests.golden.upstream import message

from palimpsest.context.fold import fold, good_summaries, marker
from palimpsest.transcript.messages import Messages


def messages_of(recorded: list[dict[str, Any]]) -> Messages:
    return tuple(message(one) for one in recorded)


def newest_tail_lacks_a_good_summary(messages: Messages) -> bool:
    """Say whether the newest marker that kept a tail has no good summary."""
    summaries = good_summaries(messages)
    for one in reversed(messages):
        found = marker(one)
        if found is not None and found.tail_start_id is not None:
            return one.id not in summaries
    return False


def test_every_recorded_history_is_folded_alike() -> None:
    sessions = load("opencode", "sessions")
    recorded = load("opencode", "filter_compacted")

    ours, theirs, apart = {}, {}, 0
    for name, case in recorded.items():
        messages = messages_of(sessions[name])
        folded = [one.id for one in fold(messages)]
        if folded != case["ids"] and newest_tail_lacks_a_good_summary(messages):
            apart += 1
            assert folded == [one.id for one in messages]
            continue
        ours[name], theirs[name] = folded, case["ids"]

    assert ours == theirs
    assert len(ours) > 10 * apart
