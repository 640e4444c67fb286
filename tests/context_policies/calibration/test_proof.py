"""A recording is reproduced before anything is said of a policy, and no request's own report is an input to that."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context_policies.calibration.made_usage import caching_session
from tests.context_policies.pi_session import pi_timeline
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.sample_size import sampled_cases

from palimpsest.context_policies.calibration.fit import fit_ruler, recorded_simulation
from palimpsest.context_policies.calibration.proof import Proof, proof_of
from palimpsest.context_policies.calibration.proof_reasons import LOST_AFTER
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.prompt_cache.ruler import UNIT_PRICES, RequestRuler, Ruler, Scale
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.comparison.policy_comparison import compare_policies
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.prices.prices import profile_of
from palimpsest.review.recorded_sessions.recording import open_recording
from palimpsest.review.session_review import SessionReview
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage


def without_taken_reads(ruler: Ruler) -> Ruler:
    """Return a ruler without the reads that were taken from the recording."""
    requests = (request._replace(taken_read=None, taken_share=1.0) for request in ruler.requests)
    return replace(ruler, requests=tuple(requests))


@pytest.fixture(scope="module")
def spotter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionReview]:
    """The first session of a large recording, which is opened once."""
    folder = tmp_path_factory.mktemp("spotter")
    with open_recording(sample("claude_code_spotter", folder)) as recording:
        yield recording[0]


def proof(timeline: Timeline) -> Proof:
    return proof_of(timeline, fit_ruler(timeline), profile_of(timeline, None, offline_price))


def test_pi_is_reproduced_but_for_the_breaks_that_nothing_explains() -> None:
    own_proof = proof(pi_timeline())

    assert (own_proof.requests, own_proof.reproduced, own_proof.taken_losses) == (438, 409, 29)
    assert own_proof.share == 1.0
    assert abs(own_proof.money_apart or 1) < 0.01
    assert own_proof.sentence == (
        "Replayed as recorded: 409 of 438 requests read what the provider reported, 29 breaks taken from the recording,"
        " 30.34 of 30.33 USD."
    )
    assert own_proof.is_reliable


def test_without_the_taken_breaks_pi_would_be_half_of_what_it_cost() -> None:
    timeline = pi_timeline()
    ruler, price = fit_ruler(timeline), profile_of(timeline, None, offline_price)

    with_breaks = sum(size.cost(price) for size in recorded_simulation(timeline, ruler).sizes)
    without = sum(
        size.cost(price) for size in recorded_simulation(timeline, without_taken_reads(ruler)).sizes
    )

    assert with_breaks - without > 10


def test_the_recorded_policy_is_replayed_by_the_function_of_all_policies() -> None:
    timeline = pi_timeline()
    ruler = fit_ruler(timeline)

    replayed = simulate(timeline, RecordedPolicy(), ruler)

    assert replayed.sizes == recorded_simulation(timeline, ruler).sizes


@settings(max_examples=25, deadline=None)
@given(
    at=st.integers(0, 19),
    usage=st.builds(
        Usage,
        input=st.integers(0, 300_000),
        cache_read=st.integers(0, 300_000),
        cache_write=st.integers(0, 300_000),
        output=st.integers(0, 30_000),
    ),
)
def test_what_a_request_reported_is_no_input_to_its_own_replay(at: int, usage: Usage) -> None:
    timeline = caching_session(20)
    ruler = without_taken_reads(fit_ruler(timeline))
    request = timeline.requests[at]
    changed = replace(
        timeline,
        requests=(
            *timeline.requests[:at],
            replace(request, usage=usage),
            *timeline.requests[at + 1 :],
        ),
    )

    before = recorded_simulation(timeline, ruler).sizes[at]
    after = recorded_simulation(changed, without_taken_reads(fit_ruler(changed))).sizes[at]

    assert (before.read, before.total, before.output, before.uncached) == (
        after.read,
        after.total,
        after.output,
        after.uncached,
    )


def test_a_loss_that_nothing_explains_is_taken_into_every_replay() -> None:
    timeline = caching_session(20, losses={9: 0})
    ruler = fit_ruler(timeline)

    raw = simulate(timeline, None, ruler)
    pruned = simulate(timeline, get("sweagent.last_n", n=3), ruler)

    assert [index for index, size in enumerate(raw.sizes) if size.is_taken and index] == [9]
    assert raw.sizes[9].read == pruned.sizes[9].read == 0
    assert raw.sizes[10].read > 0
    own_proof = proof_of(timeline, ruler, UNIT_PRICES)
    assert (own_proof.requests, own_proof.reproduced, own_proof.taken_losses) == (19, 18, 1)


def test_losses_are_not_taken_where_they_are_the_rule() -> None:
    timeline = caching_session(20, losses=dict.fromkeys(range(2, 20, 3), 0))

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert own_proof.taken_losses == 0
    assert own_proof.is_doubtful
    assert "lost the cache for no known cause, too many to be taken" in own_proof.doubt_sentences


def test_a_cache_that_is_never_read_is_reproduced_as_one() -> None:
    timeline = caching_session(8, losses=dict.fromkeys(range(8), 0))

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.reproduced, own_proof.taken_losses) == (7, 0)


@pytest.mark.soak  # with each commit the rows of a sweep over one are marked, below; this adds the table in all its forms
def test_what_a_doubtful_replay_says_is_marked_and_says_why(tmp_path: Path) -> None:
    store, report = import_file(sample("inspect_plain.eval", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id)

    compared = compare_policies(
        timeline, [None, get("opencode.prune")], fit_ruler(timeline), UNIT_PRICES
    )

    table = compared.table
    assert compared.proof.is_doubtful
    assert table.doubtful == frozenset({1, 2})
    assert table.lead[0].startswith("Replayed as recorded: 0 of 2 requests read what the provider")
    assert "2 requests read more than the request before had sent" in table.lead[1]
    assert table.text.index("Replayed as recorded") < table.text.index("policy ")
    assert "\nraw ?" in table.text
    assert "| raw ? |" in table.markdown
    assert table.html.count('<tr style="opacity:0.75;font-style:italic">') == 2
    assert compared.json()["proof"]["share"] == 0.0
    assert not compare_policies(
        pi_timeline(), [None], fit_ruler(pi_timeline()), UNIT_PRICES
    ).table.doubtful


def test_the_rows_of_a_sweep_over_a_doubtful_replay_are_marked(tmp_path: Path) -> None:
    store, report = import_file(sample("inspect_plain.eval", tmp_path))
    review = SessionReview(timeline_of(store, report.sessions[0].id), get, offline_price)

    table = review.sweep("sweagent.last_n.n", [2, 5]).table

    assert table.doubtful == frozenset({0, 1})
    assert "\n2 ?" in table.text


def test_a_recording_without_usage_has_no_proof(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))

    own_proof = proof(timeline_of(store, report.sessions[0].id))

    assert (own_proof.share, own_proof.is_reliable, own_proof.is_doubtful) == (None, None, False)
    assert (
        own_proof.sentence
        == "Replayed as recorded: the recording reports no usage to compare with."
    )


@pytest.mark.parametrize(
    ("reported", "end", "reasons"),
    [
        (20_000, "and its tokens are taken from that report.", ()),
        (
            250,
            "and by its texts it would cost 3,000 units instead of the reported 2,750 units.",
            (
                (
                    "The money of 1 request is 9.1 % above the reported: prompts 500 for 250 tokens,"
                    " uncached input 500 for 250 tokens."
                ),
            ),
        ),
    ],
)
def test_of_a_single_request_only_its_texts_are_held_against_its_report(
    reported: int, end: str, reasons: tuple[str, ...]
) -> None:
    session = with_usages(caching_session(1), [Usage(input=reported, output=500)])

    own_proof = proof_of(session, fit_ruler(session), UNIT_PRICES)

    assert own_proof.sentence == (
        f"Replayed as recorded: only 1 request reports usage, so no read of the cache can be compared, {end}"
    )
    assert own_proof.reasons == reasons
    assert not own_proof.is_doubtful


@pytest.mark.parametrize(
    ("model", "reads"),
    [
        ("openai/gpt-5.4", [0, 17_024, 18_048]),
        ("deepseek/deepseek-chat", [0, 16_640, 17_664]),
        ("anthropic/claude-opus-4-6", [0, 16_690, 17_690]),
    ],
)
def test_each_provider_keeps_a_prompt_by_its_own_rules(model: str, reads: list[int]) -> None:
    timeline = caching_session(3, model=model, first=16_700, output=400, reads=reads)

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.requests, own_proof.reproduced) == (2, 2)


def test_a_lifetime_of_a_model_is_not_that_of_another() -> None:
    timeline = caching_session(12, pause_seconds=400, hourly=True)
    other = tuple(
        replace(request, model="anthropic/claude-haiku-4-5", usage=replace_hourly(request.usage))
        if request.index >= 6
        else request
        for request in timeline.requests
    )

    ruler = fit_ruler(replace(timeline, requests=other))

    assert {request.lifetime_seconds for request in ruler.requests[:6]} == {3_600}
    assert {request.lifetime_seconds for request in ruler.requests[6:]} == {300}


def replace_hourly(usage: Usage | None) -> Usage | None:
    return None if usage is None else usage.model_copy(update={"cache_write_hour": 0})


@pytest.mark.soak  # with each commit a loss that nothing explains is taken into every replay, above; this adds the breaks of real sessions
@pytest.mark.parametrize(
    "name",
    sampled_cases(
        ["pi_large_session.jsonl", "codex_rollout.jsonl", "claude_code_spotter"],
        *("pi_large_session.jsonl", "codex_rollout.jsonl"),
    ),
)
def test_what_is_taken_is_what_the_breaks_call_unexplained(name: str, tmp_path: Path) -> None:
    with open_recording(sample(name, tmp_path)) as recording:
        for review in recording:
            unexplained = [
                cache_break.request
                for cache_break in review.breaks()
                if cache_break.cause == "unexplained"
            ]
            taken = [
                read.request for read in review.proof().replayed_reads if read.outcome == "taken"
            ]
            assert taken == unexplained


def test_the_sentence_ends_with_what_the_agents_own_rule_finds(spotter: SessionReview) -> None:
    own = spotter.own_rule()
    proofs = (spotter.proof(), spotter.compare(["raw"]).proof)

    assert own is not None
    for rows_of_proof in proofs:
        assert rows_of_proof.own_rule == own.sentence_end
        assert rows_of_proof.sentence.endswith(
            "; this agent's own rule found 1 of 1 compactions, at request 72."
        )


def test_a_given_lifetime_holds_for_each_request() -> None:
    ruler = fit_ruler(caching_session(12)).with_lifetime(60.0, "As given.")

    assert {request.lifetime_seconds for request in ruler.requests} == {60.0}
    assert ruler.lifetime_seconds == 60.0


def test_what_is_beyond_the_recorded_request_is_counted_as_everywhere() -> None:
    session = Scale(1_000, 2.0)
    ruler = RequestRuler(
        unseen_tokens=5_000, factor=4.0, output_factor=1.0, recorded_estimate=1_000
    )

    assert ruler.request_tokens(1_000, session) == 9_000
    assert ruler.request_tokens(1_001, session) == 9_000
    assert ruler.request_tokens(50_000, session) == session.request_tokens(50_000)
    less = ruler._replace(unseen_tokens=0, factor=1.0)
    assert less.request_tokens(1_500, session) == 2_000


@pytest.mark.parametrize("requests", [1, 2])
@pytest.mark.parametrize(
    "usage", [None, Usage(), Usage(input=1), Usage(cache_read=10**9, output=1)]
)
def test_odd_recordings_have_a_sentence(requests: int, usage: Usage | None) -> None:
    timeline = caching_session(requests)
    odd = replace(
        timeline,
        requests=tuple(replace(request, usage=usage) for request in timeline.requests),
        earlier={},
    )

    own_proof = proof_of(odd, fit_ruler(odd), UNIT_PRICES)

    assert own_proof.sentence.startswith("Replayed as recorded: ")
    assert own_proof.json()["sentence"] == own_proof.sentence


def test_what_is_in_no_item_is_counted_once() -> None:
    """Three requests that grow by more than the recording shows: the growth was counted by the items once more."""
    timeline = caching_session(
        3, first=2_000, growth=2_000, output=100, shown=200, model="mine/custom-1"
    )

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.requests, own_proof.reproduced) == (2, 2)
    assert own_proof.money_apart == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("requests", [6, 12, 40])
@pytest.mark.parametrize("growth", [300, 1_000, 9_000])
def test_prompts_grow_by_what_the_session_grew_by(requests: int, growth: int) -> None:
    timeline = caching_session(requests, growth=growth)

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert own_proof.share == 1.0
    assert own_proof.money_apart == pytest.approx(0, abs=0.01)


def test_a_real_session_is_within_a_hundredth_of_its_money(spotter: SessionReview) -> None:
    own_proof = spotter.proof()

    assert own_proof.requests > 100
    assert own_proof.money_apart == pytest.approx(0, abs=0.012)


@pytest.mark.soak  # with each commit the session above is within a hundredth of its money; this adds another one
def test_another_session_of_the_recording_is_so_too(tmp_path: Path) -> None:
    with open_recording(sample("claude_code_spotter", tmp_path)) as recording:
        own_proof = recording[3].proof()

    assert own_proof.requests > 100
    assert own_proof.money_apart == pytest.approx(0, abs=0.012)


def test_another_conversation_in_the_same_file_is_taken_with_its_shorter_prompt() -> None:
    timeline = caching_session(
        7, prompts=[*range(20_010, 25_010, 1_000), 20_010, 21_010], losses={5: 0}
    )
    ruler = fit_ruler(timeline)

    own_proof = proof_of(timeline, ruler, UNIT_PRICES)

    assert (own_proof.requests, own_proof.reproduced, own_proof.taken_losses) == (6, 5, 1)
    assert own_proof.money_apart == pytest.approx(0, abs=0.01)
    assert recorded_simulation(timeline, without_taken_reads(ruler)).sizes[5].total > 24_000


@pytest.mark.parametrize("requests", [2, 3, 8])
def test_a_client_that_marks_nothing_for_the_cache_reads_nothing(requests: int) -> None:
    timeline = caching_session(requests, model="anthropic/claude-sonnet-4-5")
    unmarked = with_usages(
        timeline, [Usage(input=request.reported or 0, output=500) for request in timeline.requests]
    )

    own_proof = proof_of(unmarked, fit_ruler(unmarked), UNIT_PRICES)

    assert own_proof.reproduced == requests - 1
    assert own_proof.is_reliable


def changed_at(timeline: Timeline, places: dict[int, str], setting: str) -> Timeline:
    """Return a session whose setting has another value from each of these requests on."""
    value, found = "one", []
    for request in timeline.requests:
        value = places.get(request.index, value)
        found.append(replace(request, **{setting: value}))
    return replace(timeline, requests=tuple(found), earlier={})


@pytest.mark.parametrize("setting", ["effort", "client"])
def test_a_loss_after_a_setting_changed_is_taken_where_nothing_else_tells_its_size(
    setting: str,
) -> None:
    timeline = changed_at(caching_session(20, losses={9: 0}), {9: "two"}, setting)

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.requests, own_proof.reproduced, own_proof.taken_losses) == (19, 18, 1)
    after = LOST_AFTER["effort" if setting == "effort" else "client"]
    assert f"1 break taken from the recording (1 after {after})" in own_proof.sentence
    assert own_proof.json()["taken_causes"] == {f"after {after}": 1}


@pytest.mark.parametrize("setting", ["effort", "client"])
def test_the_same_change_elsewhere_tells_how_much_is_lost(setting: str) -> None:
    changes = {5: "two", 9: "three", 14: "four"}
    timeline = changed_at(
        caching_session(20, losses=dict.fromkeys(changes, 8_000)), changes, setting
    )
    ruler = fit_ruler(timeline)

    own_proof = proof_of(timeline, ruler, UNIT_PRICES)

    assert [ruler.request_ruler(at).unchanged_beginning for at in changes] == [8_000] * 3
    assert (own_proof.requests, own_proof.reproduced, own_proof.taken_losses) == (19, 19, 0)


def test_changes_after_which_the_cache_was_read_predict_no_loss() -> None:
    changes = {5: "two", 9: "three", 14: "four"}
    timeline = changed_at(caching_session(20, losses={9: 0}), changes, "effort")

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.reproduced, own_proof.taken_losses) == (18, 1)


def test_a_read_that_arrives_late_is_taken_and_counted_by_its_cause() -> None:
    left = range(20_000, 70_000, 5_000)
    usages = [Usage(cache_read=tokens - 5_000, cache_write=5_000, output=500) for tokens in left]
    usages[0] = Usage(cache_write=20_000, output=500)
    usages[5] = Usage(input=10_000, cache_read=left[3], output=500)
    usages[6] = Usage(cache_read=left[4], cache_write=10_000, output=500)
    timeline = with_usages(caching_session(10), usages)

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.reproduced, own_proof.taken_losses) == (8, 1)
    assert list(own_proof.json()["taken_causes"]) == [f"after {LOST_AFTER['late']}"]


@pytest.mark.parametrize(
    ("usages", "reason"),
    [
        ([Usage(input=5_000), Usage(input=5_200)], "read nothing, and so few requests do not tell"),
        (
            [Usage(input=900, cache_write=100), Usage(input=1_000, cache_read=900, cache_write=100)],
            "read more than the request before had read and written",
        ),
        (
            [Usage(input=100, cache_write=200), Usage(input=101, cache_read=1_000, cache_write=200)],
            "read more than the request before had sent",
        ),
        (
            [Usage(input=20_000 * (3 if number % 2 else number + 1), output=3_000) for number in range(6)],
            "of which the recording shows about",
        ),
        ([Usage(input=tokens) for tokens in (100, 90_000, 200)], "Only 3 requests reported usage"),
    ],
)  # fmt: skip
def test_the_reason_names_what_the_numbers_show(usages: list[Usage], reason: str) -> None:
    timeline = caching_session(len(usages), model="gemini/gemini-2.5-pro")
    odd = with_usages(timeline, usages)

    own_proof = proof_of(odd, fit_ruler(odd), UNIT_PRICES)

    assert own_proof.is_doubtful
    assert reason in own_proof.doubt_sentences


def with_usages(timeline: Timeline, usages: Sequence[Usage | None]) -> Timeline:
    """Return a session with other reports."""
    changed = zip(timeline.requests, usages, strict=True)
    return replace(
        timeline,
        requests=tuple(replace(request, usage=proofs) for request, proofs in changed),
        earlier={},
    )


def test_two_models_that_take_turns_have_a_cache_and_a_ruler_each() -> None:
    """Each reads what it left two requests ago; counted by the other's reports, none did."""
    timeline = caching_session(20)
    models = ("anthropic/claude-opus-4-8", "anthropic/claude-haiku-4-5")
    usages = [
        Usage(cache_read=left, cache_write=2_000 if left else 20_000, output=500)
        for number in range(20)
        for left in [18_000 + 2_000 * (number // 2) if number > 1 else 0]
    ]
    requests = [replace(request, model=models[request.index % 2]) for request in timeline.requests]
    mixed = with_usages(replace(timeline, requests=tuple(requests)), usages)

    own_proof = proof_of(mixed, fit_ruler(mixed), UNIT_PRICES)

    assert own_proof.reproduced >= 18
    assert own_proof.is_reliable
    assert "By model and lifetime: anthropic/claude-opus-4-8, kept for 300 s: 9 of 9" in (
        own_proof.sentence
    )


@pytest.mark.parametrize("output", [0, 30_000, 100_000_000])
@pytest.mark.parametrize("growth", [1_000, 9_000_000])
def test_answers_are_at_most_what_is_reported_of_them(output: int, growth: int) -> None:
    timeline = caching_session(8, output=output, growth=growth, shown=1_500)

    sizes = recorded_simulation(timeline, fit_ruler(timeline)).sizes

    assert sum(size.output for size in sizes) == pytest.approx(8 * output, rel=0.001)


def test_a_read_below_the_least_that_is_documented_is_believed() -> None:
    timeline = caching_session(10, first=110, growth=100, output=5, shown=20)

    own_proof = proof_of(timeline, fit_ruler(timeline), UNIT_PRICES)

    assert (own_proof.reproduced, own_proof.money_apart) == (9, pytest.approx(0, abs=0.03))


USAGES = st.builds(
    Usage,
    input=st.integers(0, 300_000),
    cache_read=st.integers(0, 900_000),
    cache_write=st.integers(0, 300_000),
    output=st.integers(0, 30_000),
)


@settings(max_examples=40, deadline=None)
@given(
    usages=st.lists(st.none() | USAGES, min_size=12, max_size=12),
    models=st.lists(st.sampled_from(["anthropic/a", "openai/b", ""]), min_size=12, max_size=12),
    starts=st.lists(st.none() | st.integers(0, 10**13), min_size=12, max_size=12),
    efforts=st.lists(st.sampled_from(["", "off", "high"]), min_size=12, max_size=12),
)
def test_any_usage_in_any_order_has_a_sentence_and_possible_numbers(
    usages: list[Usage | None],
    models: list[str],
    starts: list[int | None],
    efforts: list[str],
) -> None:
    plain = caching_session(12)
    rows = zip(plain.requests, models, starts, efforts, strict=True)
    requests = tuple(
        replace(row, model=model, started=start, effort=effort)
        for row, model, start, effort in rows
    )
    timeline = with_usages(replace(plain, requests=requests), usages)
    ruler = fit_ruler(timeline)

    own_proof = proof_of(timeline, ruler, UNIT_PRICES)

    assert own_proof.sentence.endswith(".")
    assert all(reason.endswith(".") for reason in own_proof.reasons)
    assert own_proof.reproduced + own_proof.taken_losses <= own_proof.requests
    assert bool(own_proof.is_reliable) is not own_proof.is_doubtful or own_proof.is_reliable is None
    for size in recorded_simulation(timeline, ruler).sizes:
        assert 0 <= size.read <= size.total + 0.001
        assert size.written > -0.001
        assert size.output >= 0
