"""A person's own function is a policy: replayed, checked, put behind others, recorded and never run from a record."""

import hashlib
from collections.abc import Iterator

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.pi_session import RULER, pi_timeline

import palimpsest
from palimpsest import policies
from palimpsest.context_policies.interface.laws import PolicyBreach
from palimpsest.context_policies.interface.policy import Change, ContextPolicy, Probe
from palimpsest.context_policies.own_policies.custom import CustomPolicy
from palimpsest.context_policies.own_policies.decisions import CLEARED_TEXT
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.review.comparison.policy_figures import verdict
from palimpsest.transcript.context_values.policies import OwnPolicy
from palimpsest.transcript.timeline import Timeline

KEPT = 10


@palimpsest.policy
def newest_ten(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-KEPT]:
        yield policies.clear(index)


def masks(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-KEPT]:
        if view.item(index).chars >= 50:
            yield policies.mask(index, "MASKED")


def session() -> Timeline:
    maker = TimelineMaker()
    for turn in range(3):
        maker.prompt("Do it. " * 40, pinned=turn == 0)
        for _ in range(3):
            maker.answer("Well.", [Call("read", "a line\n" * 100), Call("bash", "ok")])
    return maker.made()


def replayed(policy: ContextPolicy, timeline: Timeline | None = None) -> Simulation:
    return simulate(timeline or session(), policy, RULER)


def total(simulation: Simulation) -> float:
    return sum(size.total for size in simulation.sizes)


@pytest.mark.slow
def test_a_function_of_three_lines_gives_what_the_preset_of_the_same_rule_gives() -> None:
    """On the recorded session, whose shorter results a preset masks, too, and a function leaves."""
    preset = replayed(policies.get("complexity_trap.mask", placeholder="MASKED"), pi_timeline())
    own = replayed(palimpsest.policy(masks), pi_timeline())

    assert len(preset.firing_requests) == 362
    short = {item.index for item in pi_timeline().items if item.chars < 50}
    expected = [
        transition for transition in preset.timeline.transitions if transition.item not in short
    ]
    assert [
        (transition.item, transition.request, transition.tokens)
        for transition in own.timeline.transitions
    ] == [(transition.item, transition.request, transition.tokens) for transition in expected]


def test_what_a_recomputed_policy_no_longer_says_is_whole_again() -> None:
    @palimpsest.policy
    def odd_requests(view: PastView) -> Iterator[Change]:
        if view.request.index % 2:
            yield from (policies.clear(index) for index in view.outputs)

    @palimpsest.policy(sticky=True)
    def odd_requests_sticky(view: PastView) -> Iterator[Change]:
        if view.request.index % 2:
            yield from (policies.clear(index) for index in view.outputs)

    seen, kept = replayed(odd_requests).timeline, replayed(odd_requests_sticky).timeline
    first = next(item.index for item in seen.items if item.kind == "output")

    states = [seen.state(first, number) for number in range(1, 6)]
    assert states == ["cleared", "whole", "cleared", "whole", "cleared"]
    assert {kept.state(first, number) for number in range(1, 6)} == {"cleared"}


def test_a_recomputed_policy_is_asked_about_the_whole_request() -> None:
    totals: list[tuple[int, int]] = []

    @palimpsest.policy
    def clears(view: PastView) -> Iterator[Change]:
        totals.append((view.total, view.raw_total))
        yield from (policies.clear(index) for index in view.outputs)

    replayed(clears)

    assert totals[-1][0] == totals[-1][1] > 500


def test_results_shorter_than_the_placeholder_stay() -> None:
    seen = replayed(newest_ten).timeline

    assert {seen.items[transition.item].tool for transition in seen.transitions} == {"read"}


def test_decisions_that_change_nothing_are_told_with_their_reason() -> None:
    @palimpsest.policy
    def clears_what_is_short(view: PastView) -> Iterator[Change]:
        short = [output for output in view.outputs if view.item(output).chars <= len(CLEARED_TEXT)]
        yield from (policies.clear(index) for index in short)

    replay = replayed(clears_what_is_short)
    words = verdict(replay)

    assert replay.firing_requests == ()
    assert words.startswith("It decided ")
    assert words.endswith(
        " times, and nothing changed: what it named was as short as what would stand for it."
    )


def test_clears_that_name_whole_items_to_be_whole_are_told_too() -> None:
    @palimpsest.policy
    def shows(view: PastView) -> Iterator[Change]:
        yield from (Change(output, "whole") for output in view.outputs[:1])

    assert "nothing changed: what it named was whole already." in verdict(replayed(shows))


def test_a_policy_that_decides_nothing_has_nothing_to_decide() -> None:
    @palimpsest.policy
    def silent(_view: PastView) -> Iterator[Change]:
        yield from ()

    assert verdict(replayed(silent)) == "It has nothing to decide."


def test_a_probe_tells_why_it_did_not_act() -> None:
    @palimpsest.policy
    def never(view: PastView) -> Iterator[Change | Probe]:
        yield policies.probe("tokens of the request", view.total, 1_000_000)

    replay = replayed(never)

    assert replay.firing_requests == ()
    assert replay.probes[-1].probe.threshold == 1_000_000
    assert replay.probes[-1].probe.value > 1_000


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (
            lambda view: [policies.drop(view.outputs[0])],
            "a call goes only together with its result",
        ),
        (lambda view: [policies.clear(0)] * (view.count > 0), "what a person pinned stays"),
        (lambda view: [policies.mask(view.outputs[0], "x" * 9_999)], "is not longer than the item"),
        (lambda view: [policies.clear(view.count)], "numbered from 0 to below view.count"),
        (lambda _: [policies.clear(-1)], "numbered from 0 to below view.count"),
        (
            lambda view: [view.read(view.count)],
            "it looks only at what came before the request. There is no item",
        ),
        (lambda view: [view.item(-1)], "IndexError: There is no item -1: items"),
        (lambda view: [view.timeline], "AttributeError"),
        (lambda view: [1 / (view.count - view.count)], "ZeroDivisionError: division by zero."),
        (lambda view: view.outputs[0], "failed at request 2: TypeError"),
        (lambda _: ["clear 3"], "gave 'clear 3' at request 2"),
        (lambda _: iter(lambda: policies.clear(1), None), "decisions at request 2"),
        (lambda _: [policies.probe("calls", asked(), 1)], "it decides the same"),
    ],
)
def test_a_breach_is_one_sentence_that_names_the_request(decision: object, said: str) -> None:
    @palimpsest.policy(name="mine")
    def mine(view: PastView) -> object:
        return decision(view) if view.request.index == 1 else ()  # type: ignore[operator]

    with pytest.raises(PolicyBreach) as raised:
        replayed(mine)

    assert str(raised.value).startswith("The policy 'mine' ")
    assert "at request 2" in str(raised.value)
    assert said in str(raised.value)


COUNTED: list[int] = []


def asked() -> int:
    COUNTED.append(1)
    return len(COUNTED)


def test_it_is_recorded_with_its_text_and_the_values_it_uses() -> None:
    record = newest_ten.record()

    assert record["name"] == "newest_ten"
    assert record["text"].startswith("@palimpsest.policy\ndef newest_ten(view")
    assert record["values"] == {"KEPT": 10}
    expected = hashlib.sha256((record["text"] + '\n{"KEPT": 10}').encode()).hexdigest()
    assert record["sha256"] == expected
    assert newest_ten.source == f"your function newest_ten, sha256 {expected[:12]}"


def test_a_function_without_source_has_a_digest_of_its_code() -> None:
    names: dict[str, CustomPolicy] = {}
    for number in (1, 2):
        scope: dict[str, object] = {}
        exec(f"def made(view):\n    return [][:{number}]\n", scope)
        names[str(number)] = palimpsest.policy(scope["made"])  # type: ignore[call-overload]

    assert names["1"].text == ""
    assert len(names["1"].digest) == 64


def test_in_a_pipeline_each_sees_what_those_before_it_leave() -> None:
    seen: list[int] = []

    @palimpsest.policy
    def clears(view: PastView) -> Iterator[Change]:
        yield from (policies.clear(index) for index in view.outputs)

    @palimpsest.policy
    def looks(view: PastView) -> list[Change]:
        seen.append(view.total)
        return []

    pipeline = clears | looks | policies.get("opencode.prune")
    alone, together = replayed(clears), replayed(pipeline)

    assert pipeline.name == "clears | looks | opencode.prune"
    assert pipeline.when == "both"
    assert [size.total for size in together.sizes] == [size.total for size in alone.sizes]
    assert seen[-1] == together.sizes[-1].total


def test_what_an_earlier_policy_took_out_is_not_shown_by_a_later_one() -> None:
    compacts = policies.get("pi.compact window=1000 reserve=0 keep_tokens=100 summary=20")
    pipelines = (compacts | newest_all, newest_all | compacts)

    for pipeline in pipelines:
        timeline = replayed(pipeline).timeline
        last = len(timeline.requests) - 1
        states = [
            timeline.state(item.index, last) for item in timeline.items if item.kind == "output"
        ]
        assert "summarised" in states
        assert total(replayed(pipeline)) <= total(replayed(compacts))


@palimpsest.policy
def newest_all(view: PastView) -> Iterator[Change]:
    for index in view.outputs:
        yield policies.clear(index)


@pytest.mark.slow
def test_a_pipeline_over_the_recorded_session_is_its_parts_where_one_never_acts() -> None:
    pi = pi_timeline()
    prune = policies.get("opencode.prune")

    both = replayed(policies.get("gemini.mask | opencode.prune"), pi)

    assert [size.total for size in both.sizes] == [size.total for size in replayed(prune, pi).sizes]
    assert len(both.firing_requests) == 1


def test_the_namespace_shows_itself_as_the_table_of_policies() -> None:
    assert "<table>" in policies._repr_html_()
    assert policies._repr_markdown_().startswith("**")
    assert "opencode.prune" in str(policies)
    assert "opencode.prune" in list(policies.list().to_dataframe()["policy"])


def test_a_view_names_the_files_of_calls_and_results() -> None:
    timeline = pi_timeline()
    seen: dict[int, str] = {}

    @palimpsest.policy
    def looking(view: PastView) -> Iterator[Change]:
        for index in range(view.count):
            if view.item(index).tool:
                seen[index] = view.path(index)
        return iter(())

    simulate(timeline, looking, RULER)

    items = {index: timeline.items[index] for index in seen}
    named = {index for index, item in items.items() if item.tool in ("read", "edit", "write")}
    assert {index for index, path in seen.items() if path} == named
    assert seen[3] == seen[6] == "packages/coding-agent/docs/theme.md"
    assert all(seen[index] == items[index].label for index in named)


def test_as_the_last_line_of_a_cell_it_says_what_it_is() -> None:
    @palimpsest.policy(sticky=True)
    def short(view: PastView, keep: int = 5) -> Iterator[Change]:
        # the newest stay
        yield from (policies.clear(index) for index in view.outputs[:-keep])

    words = "a policy of your own, 3 lines: it clears items; what it decides holds at all later requests. Its numbers: keep=5."
    assert repr(short) == f"short, {words}"
    assert short._repr_html_() == f"<p><strong>short</strong>, {words}</p>"
    assert repr(newest_ten).endswith("it clears items; it decides anew before each request.")
    assert "puts a text in the place of items;" in repr(palimpsest.policy(masks))


def test_a_recorded_one_says_its_name_its_source_and_its_length() -> None:
    record = newest_ten.record()
    own = OwnPolicy(name=record["name"], source=newest_ten.source, text=f"{record['text']}\n")

    assert repr(own) == f"<OwnPolicy newest_ten: {newest_ten.source}, 4 lines>"
    assert "\x1b" not in repr(OwnPolicy(name="a\x1b[2J"))
