"""Each cause of a lost cache is named where the recording holds its evidence, and nowhere else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.context_policies.made_timeline import TimelineMaker
from tests.context_policies.pi_session import SONNET, pi_timeline
from tests.recordings.formats.sample_files import sample
from tests.review.tables.test_cache_breaks import reported

from palimpsest.context_policies.prompt_cache.break_causes import PROVIDER_CAUSES, UNEXPLAINED
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.tables.cache_breaks import CacheBreak, cache_breaks
from palimpsest.transcript.timeline import Timeline, TimelineEvent, Transition
from palimpsest.transcript.values import Usage

NOTE = "<task-notification>\n<task-id>be613ab</task-id>\n<status>completed</status>\n</task-notification>"
FALL = [
    Usage(cache_read=17_842, cache_write=8_165),
    Usage(cache_read=26_007, cache_write=9_000),
    Usage(cache_read=35_007, cache_write=2_000),
    Usage(cache_read=21_445, cache_write=16_000),
]
"""The fourth request reads its beginning alone, which the session's first request held."""
REST = [Usage(cache_read=37_445, cache_write=2_000), Usage(cache_read=21_500, cache_write=20_000)]
"""The sixth does so again."""


def claude(
    folder: Path, usages: Sequence[Usage], *, said: dict[int, str], more: dict[int, Any]
) -> list[CacheBreak]:
    """Return the breaks of a Claude Code session whose requests reported these; ``said`` is asked before a request."""
    rows: list[dict[str, Any]] = []
    for number, usage in enumerate(usages):
        base = {"isSidechain": False, "cwd": "/w", "sessionId": "s1", "version": "2.1.200"}
        at = f"2026-08-01T10:0{number}:00.000Z"
        asked = {
            "type": "user",
            "uuid": f"u{number}",
            "parentUuid": f"a{number - 1}" if number else None,
            "timestamp": at,
            "message": {"role": "user", "content": said.get(number, f"Do step {number}.")},
        }
        kinds = {
            "input_tokens": usage.input,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
            "output_tokens": 20,
        }
        message = {
            "id": f"m{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": f"Step {number} is done."}],
            "stop_reason": "end_turn",
            "usage": kinds,
        }
        more_fields = more.get(number, {})
        message |= more_fields.get("message", {})
        answer = {
            "type": "assistant",
            "uuid": f"a{number}",
            "parentUuid": f"u{number}",
            "timestamp": at,
            "message": message,
        }
        rows += [base | asked, base | answer | more_fields.get("record", {})]
    path = folder / "s1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_recording(path) as recording:
        return list(recording[0].breaks())


def test_a_note_of_the_program_before_which_all_is_sent_otherwise_is_named(tmp_path: Path) -> None:
    (cache_break,) = claude(tmp_path, FALL, said={3: NOTE}, more={})

    assert cache_break.cause == "rewritten"
    assert "<task-notification>" in cache_break.words
    assert "only the beginning of the session was read" in cache_break.words


def test_a_replay_reads_the_beginning_where_the_program_sent_the_rest_otherwise(
    tmp_path: Path,
) -> None:
    claude(tmp_path, [*FALL, *REST], said={3: NOTE, 5: NOTE}, more={})
    with open_recording(tmp_path / "s1.jsonl") as recording:
        ruler = recording[0].ruler
        proof = recording[0].proof()

    assert (
        ruler.request_ruler(3).unchanged_beginning,
        ruler.request_ruler(5).unchanged_beginning,
    ) == (21_500, 21_445)
    assert ruler.request_ruler(4).unchanged_beginning is None
    assert proof.taken_losses == 0
    assert {read.request: read.outcome for read in proof.replayed_reads}[5] == "reproduced"


@pytest.mark.parametrize(
    "note",
    [
        "<system-reminder>The file changed.</system-reminder>",
        "<local-command-stdout>ok</local-command-stdout>",
    ],
)
def test_other_words_of_the_program_are_as_good_a_reason(tmp_path: Path, note: str) -> None:
    (cache_break,) = claude(tmp_path, FALL, said={3: note}, more={})

    assert cache_break.cause == "rewritten"


def test_after_a_prompt_of_a_person_the_same_fall_stays_unexplained(tmp_path: Path) -> None:
    (cache_break,) = claude(tmp_path, FALL, said={}, more={})

    assert (cache_break.cause, cache_break.words) == ("unexplained", UNEXPLAINED)
    assert cache_break.beginning_only


def test_a_note_after_which_nothing_at_all_was_read_is_no_reason(tmp_path: Path) -> None:
    usages = [*FALL[:3], Usage(cache_read=0, cache_write=37_445)]

    (cache_break,) = claude(tmp_path, usages, said={3: NOTE}, more={})

    assert cache_break.cause == "unexplained"


@pytest.mark.parametrize(("word", "cause"), PROVIDER_CAUSES.items())
def test_what_the_provider_itself_says_is_the_reason(tmp_path: Path, word: str, cause: str) -> None:
    reason = {"cache_miss_reason": {"type": word, "cache_missed_input_tokens": 13_562}}

    (cache_break,) = claude(tmp_path, FALL, said={}, more={3: {"message": {"diagnostics": reason}}})

    assert cache_break.cause == cause
    assert cache_break.words.endswith("as the provider says")


@pytest.mark.parametrize(
    "reason", ["unavailable", "previous_message_not_found", "", None, 5, ["x"]]
)
def test_where_the_provider_cannot_tell_nothing_is_made_of_it(tmp_path: Path, reason: Any) -> None:
    more_fields = {"diagnostics": {"cache_miss_reason": {"type": reason}}}

    (cache_break,) = claude(tmp_path, FALL, said={}, more={3: {"message": more_fields}})

    assert cache_break.cause == "unexplained"


def test_what_the_provider_says_confirms_what_the_recording_holds(tmp_path: Path) -> None:
    more_fields = {"diagnostics": {"cache_miss_reason": {"type": "messages_changed"}}}

    (cache_break,) = claude(tmp_path, FALL, said={3: NOTE}, more={3: {"message": more_fields}})

    assert [cause.cause for cause in cache_break.causes] == ["rewritten"]
    assert cache_break.words.endswith("as the provider says, too")


def test_another_version_of_the_program_is_told(tmp_path: Path) -> None:
    (cache_break,) = claude(tmp_path, FALL, said={}, more={3: {"record": {"version": "2.1.201"}}})

    assert cache_break.cause == "client"
    assert cache_break.words == "the agent's program changed from version 2.1.200 to 2.1.201"


def test_an_effort_is_a_reason_only_where_the_two_requests_differ() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)
    of_effort = {
        cache_break.request: cache_break.words
        for cache_break in breaks
        if cache_break.cause == "effort"
    }

    # Before request 104 the level was changed 15 times, and was off as before.
    assert (
        next(cache_break for cache_break in breaks if cache_break.request == 103).cause
        == "unexplained"
    )
    assert of_effort[227] == "the reasoning effort changed from off to low"


def with_pause(usages: Sequence[Usage], seconds: float) -> Timeline:
    """Return a session whose last request came after a pause."""
    maker = TimelineMaker()
    for number in range(len(usages)):
        maker.prompt("Go on.")
        maker.answer("Done.", pause=seconds if number == len(usages) - 1 else 1)
    requests = tuple(
        replace(request, usage=usage) for request, usage in zip(maker.requests, usages, strict=True)
    )
    return replace(maker.made(), requests=requests)


def test_a_compaction_after_a_pause_is_told_as_both() -> None:
    made = with_pause(FALL, 1_000)
    made = replace(made, events=(TimelineEvent(3, "compact", "by hand"),))

    (cache_break,) = cache_breaks(made, SONNET)

    assert [cause.cause for cause in cache_break.causes] == ["compacted", "idle"]
    assert cache_break.words == (
        "a summary replaced earlier messages; and 1,000 s passed since the request before; the cache is kept for 300 s"
    )


def test_what_a_policy_shows_otherwise_is_named_once() -> None:
    made = with_pause(FALL, 1)
    cleared = replace(made, transitions=(Transition(0, 3, "cleared", 5),))
    summarised = replace(cleared, events=(TimelineEvent(3, "compact", "automatic"),))

    assert [cache_break.cause for cache_break in cache_breaks(cleared, SONNET)[0].causes] == [
        "pruned"
    ]
    assert [cache_break.cause for cache_break in cache_breaks(summarised, SONNET)[0].causes] == [
        "compacted"
    ]


def test_a_read_that_only_arrives_late_is_told() -> None:
    late = reported(
        [
            Usage(cache_write=20_000),
            Usage(cache_read=20_000, cache_write=5_000),
            Usage(input=5_100, cache_read=20_000),
            Usage(input=200, cache_read=25_000),
        ]
    )

    (cache_break,) = cache_breaks(late, SONNET)

    assert (cache_break.request, cache_break.cause) == (2, "late")
    assert "request 1 had left" in cache_break.words
    assert "request 4" in cache_break.words


def test_a_prefix_that_was_written_anew_did_not_arrive_late() -> None:
    written = reported(
        [
            Usage(cache_write=20_000),
            Usage(cache_read=20_000, cache_write=5_000),
            Usage(cache_read=20_000, cache_write=5_100),
            Usage(cache_read=25_100, cache_write=100),
        ]
    )

    assert [cache_break.cause for cache_break in cache_breaks(written, SONNET)] == ["unexplained"]


def test_a_growing_session_tells_it_as_soon_as_the_next_request_shows_it() -> None:
    whole = reported(
        [
            Usage(cache_write=20_000),
            Usage(cache_read=20_000, cache_write=5_000),
            Usage(input=5_100, cache_read=20_000),
            Usage(input=200, cache_read=25_000),
        ]
    )
    before = replace(whole, requests=whole.requests[:3])

    assert [cache_break.cause for cache_break in cache_breaks(before, SONNET)] == ["unexplained"]
    grown = replace(whole, earlier=before.earlier)
    assert [cache_break.cause for cache_break in cache_breaks(grown, SONNET)] == ["late"]


@pytest.mark.soak  # with each commit each reason is told in the tests around; this adds a real session
def test_the_compaction_of_a_real_session_after_a_pause_is_the_first_reason(tmp_path: Path) -> None:
    (path,) = sample("claude_code_spotter", tmp_path).glob("ae4a77f8*.jsonl")
    with open_recording(path) as recording:
        breaks = recording[0].breaks()

    assert [cause.cause for cause in breaks] == ["model", "compacted"]
    assert [cause.cause for cause in breaks[1].causes] == ["compacted", "model", "idle"]
    assert breaks.unexplained_share == 0
