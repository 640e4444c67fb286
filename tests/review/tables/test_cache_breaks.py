"""Where sessions lost the cache, why, and for how much."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.context_policies.made_timeline import TimelineMaker
from tests.context_policies.pi_session import SONNET, pi_timeline
from tests.recordings.formats.sample_files import sample

from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.tables.cache_breaks import cache_breaks, remedy_text
from palimpsest.review.tables.links import link_to
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage


def reported(usages: Sequence[Usage | None], *, prompts: bool = True) -> Timeline:
    """Return a session whose requests reported these usages, each after a prompt or after what the program wrote."""
    maker = TimelineMaker()
    for _ in usages:
        maker.prompt("Go on.")
        maker.answer("Done.")
    requests = tuple(
        replace(request, usage=usage, turn=request.turn if prompts else 1)
        for request, usage in zip(maker.requests, usages, strict=True)
    )
    return replace(maker.made(), requests=requests)


def test_fields_count_requests_from_0_and_tables_arguments_and_links_from_1(tmp_path: Path) -> None:
    with open_recording(sample("claude_code_spotter", tmp_path)) as recording:
        session = recording[0]
        found = {
            "breaks": (session.breaks(), session.breaks().table),
            "subagents": (session.subagents, session.subagents.table),
            "compactions": (session.compactions(), session.compactions().table),
        }
        for name, (values, table) in found.items():
            fields = [value.request for value in values]
            assert fields, name
            shown = [row["request"] for row in table.records()]
            assert shown == [field + 1 for field in fields], name
        (lost,) = session.breaks()
        assert session.request(lost.request + 1).request == lost.request
        assert session.timeline.requests[lost.request].index == lost.request
        wastes = session.wastes()
        assert [waste.link.split("/")[1] for waste in wastes] == [
            str(waste.request + 1) for waste in wastes
        ]


def test_the_breaks_of_pi_are_the_measured_ones() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)

    assert len(breaks) == 37
    assert breaks.causes == {"idle": 4, "effort": 4, "unexplained": 29}
    assert round(breaks.cost, 2) == 14.21
    assert breaks.followers == 438


def test_what_nothing_explains_is_said_so_with_what_else_is_true_of_it() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)

    assert breaks.correlations == (
        "28 of 29 unexplained breaks come right after a prompt; 42 of 78 such requests lost nothing.",
    )
    assert {cache_break.words for cache_break in breaks if cache_break.cause == "unexplained"} == {
        "nothing in the recording explains it"
    }


def test_each_break_has_its_numbers_and_a_link() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)
    idle = next(cache_break for cache_break in breaks if cache_break.cause == "idle")

    assert idle.loss == idle.expected - idle.read
    assert "the cache is kept for 300 s" in idle.words
    session, request = pi_timeline().session, breaks[0].request
    assert (
        breaks.table.links[0] == link_to(session, request) == f"palimpsest:{session}/{request + 1}"
    )
    frame = breaks.to_dataframe()
    assert list(frame["loss"]) == [cache_break.loss for cache_break in breaks]


def test_input_behind_the_last_cache_mark_is_nothing_that_can_be_lost() -> None:
    # The second request left 30,000 tokens in the cache and paid for 4,000 more; the third read all that was there.
    made = reported(
        [
            Usage(cache_write=20_000),
            Usage(input=4_000, cache_read=20_000, cache_write=10_000),
            Usage(cache_read=30_000, cache_write=5_000),
        ]
    )

    assert len(cache_breaks(made, SONNET)) == 0


def test_of_claude_code_only_what_the_cache_held_is_lost(tmp_path: Path) -> None:
    with open_recording(sample("claude_code/cc1df109.jsonl", tmp_path)) as recording:
        (cache_break,) = recording[0].breaks()

    # Of the 22,607 tokens of the request before, 10,126 were read and 12,478 written; 3 were in no cache.
    assert (cache_break.request, cache_break.expected, cache_break.read, cache_break.loss) == (
        1,
        22_604,
        10_126,
        12_478,
    )


def test_a_cache_that_was_written_and_never_read_was_lost() -> None:
    made = reported([Usage(cache_write=13_000), Usage(input=900, cache_write=23_000)])

    (cache_break,) = cache_breaks(made, SONNET)

    assert (cache_break.expected, cache_break.read) == (13_000, 0)


def test_without_reported_writes_all_that_was_sent_is_expected() -> None:
    made = reported([Usage(input=3_000, cache_read=20_000), Usage(input=20_000, cache_read=4_000)])

    (cache_break,) = cache_breaks(made, SONNET)

    assert (cache_break.expected, cache_break.loss, cache_break.reports_writes) == (
        23_000,
        19_000,
        False,
    )


def test_a_request_in_between_that_reported_nothing_is_not_passed_over_in_silence() -> None:
    breaks = cache_breaks(pi_timeline(), SONNET)
    after_an_aborted = next(cache_break for cache_break in breaks if cache_break.request == 160)

    assert after_an_aborted.compared_request == 158
    assert after_an_aborted.words == (
        "473 s passed since request 159, the last with reported usage; the cache is kept for 300 s"
    )
    assert remedy_text(pi_timeline(), after_an_aborted, SONNET) == (
        "a request to keep the cache warm (~0.03 USD)"
    )


def test_what_the_program_wrote_is_no_prompt() -> None:
    usages = [Usage(cache_write=20_000), Usage(cache_write=20_100)]

    assert cache_breaks(reported(usages), SONNET).turn_starts == 1
    assert cache_breaks(reported(usages, prompts=False), SONNET).turn_starts == 0
