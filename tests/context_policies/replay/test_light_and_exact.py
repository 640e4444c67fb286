"""A light policy, which sees weights only, decides what the engine's own decider does over the messages."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.sample_size import sample_size

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.visible_messages import View
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage

ESTIMATOR = "tiktoken/o200k_base"
"""One that rounds nothing, so that both count the same."""
FACTS = Facts(now=0, estimator=ESTIMATOR, window=200_000, reserve=0)


async def test_opencodes_prune_clears_what_the_live_session_cleared(tmp_path: Path) -> None:
    harness, session = await SCENES["after_turn"](tmp_path)
    timeline = timeline_of(harness.store, session.id, counter)

    light = simulate(timeline, get("opencode.prune"), Ruler())

    recorded = [
        (transition.item, transition.request, transition.state)
        for transition in timeline.transitions
    ]
    assert len(recorded) == 5
    assert [
        (transition.item, transition.request, transition.state)
        for transition in light.timeline.transitions
    ] == recorded


async def test_openclaws_trimming_begins_where_the_live_session_began(tmp_path: Path) -> None:
    harness, session = await SCENES["cold_openclaw"](tmp_path)
    timeline = timeline_of(harness.store, session.id, counter)
    policy = get("openclaw.cache_ttl", window=60_000, trim_share=0.01, keep_assistants=1)

    light = simulate(timeline, policy, Ruler())

    # The live rule holds for one request and is made anew; the preset's trim stays, as in OpenClaw's memory.
    trimmed = [
        (transition.item, transition.request)
        for transition in timeline.transitions
        if transition.state == "truncated"
    ]
    assert len(trimmed) == 6
    assert [
        (transition.item, transition.request) for transition in light.timeline.transitions
    ] == trimmed


@cache
def pi() -> tuple[Store, str]:
    with TemporaryDirectory() as folder:
        store, report = import_file(sample("pi_large_session.jsonl", Path(folder)))
    return store, report.sessions[0].id


def exact(store: Store, messages: Messages, protect: int, minimum: int) -> list[str]:
    """Return the parts that the engine's decider clears, turn by turn, in order."""
    changes = {"prune.protect_tokens": protect, "prune.minimum_tokens": minimum}
    policy = policy_with_changes(PRESETS["opencode-1.1"], changes)
    decisions: tuple[Decision, ...] = ()
    ends = [
        index
        for index, message in enumerate(messages)
        if isinstance(message.info, UserMessage)
        and index
        and isinstance(messages[index - 1].info, AssistantMessage)
    ]
    for end in ends:
        view = View.of(messages[:end], decisions, store.get_blob)
        decisions += prune(view, policy, FACTS, lambda: "dec", counter(ESTIMATOR))
    return [decision.part_id or "" for decision in decisions]


@pytest.mark.soak  # with each commit tests/context_policies/whatif/test_engine_light_and_exact.py prunes generated sessions alike; this adds a real one with 453 requests
def test_opencodes_prune_over_pi_is_the_engines_to_the_item() -> None:
    store, session_id = pi()
    timeline = timeline_of(store, session_id, counter)
    messages = store.load(session_id).messages()

    for protect, minimum in ((30_000, 20_000), (20_000, 10_000), (8_000, 4_000))[
        :: sample_size(3, 1)
    ]:
        light = simulate(
            timeline,
            get(
                "opencode.prune",
                protect=protect,
                minimum=minimum,
                failed=False,
                estimator=ESTIMATOR,
            ),
            Ruler(),
        )
        cleared = [timeline.items[transition.item].id for transition in light.timeline.transitions]
        assert cleared
        assert [rule.split("/")[1] for rule in cleared] == exact(store, messages, protect, minimum)
