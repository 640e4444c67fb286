"""A request is made to fit in a fixed order: reminders, pruning, a summary, truncated results, an error."""

from itertools import count as counter

from tests.builders import INFO, Builder

from palimpsest.context.policy_overrides import policy_with_changes, preset_policy
from palimpsest.context.presets import PRESETS
from palimpsest.context.request_assembly.fit import (
    DecisionBatch,
    Fit,
    FitAttempts,
    FitEvent,
    FitOutcome,
    FittedRequest,
    MessageRequest,
    ResultsShortened,
    SummaryNeeded,
    fit_request,
    prune_after_turn,
)
from palimpsest.context.request_assembly.projection import project
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.context_values.policies import Policy

OURS = policy_with_changes(preset_policy("palimpsest"), {"prune.rule": "none"})
PRUNES = policy_with_changes(
    preset_policy("palimpsest"), {"prune.protect_tokens": 1_000, "prune.minimum_tokens": 500}
)
WINDOW = 12_800
FACTS = Facts(now=7, estimator="one per character", window=WINDOW, reserve=800, used_tokens=5)


def session(outputs: int, chars: int = 2_500) -> View:
    build = Builder()
    answers = (build.assistant(build.ran("bash", "x" * chars)) for _ in range(outputs))
    return View((build.user("go"), *answers))


def request(view: View, chosen: Policy = OURS) -> MessageRequest:
    numbers = counter()
    return MessageRequest(
        view=view,
        policy=chosen,
        facts=FACTS,
        count=len,
        project=lambda view: project(
            view, system=(), tools=(), model=INFO, policy=chosen, count=len
        ),
        new_id=lambda: f"dec_{next(numbers)}",
    )


def step(
    running: Fit[MessageRequest], outcome: FitOutcome[MessageRequest] | None = None
) -> FitEvent | FittedRequest[MessageRequest] | None:
    """Resume the generator until its next yield; at its end return its result."""
    try:
        return running.send(outcome)
    except StopIteration as ended:
        value: FittedRequest[MessageRequest] | None = ended.value
        return value


def test_leaves_a_small_session_alone() -> None:
    view, tries = session(2), FitAttempts()

    event = step(fit_request(request(view), tries))

    assert isinstance(event, FittedRequest)
    assert event.request.view is view
    assert event.budget_check.fits
    assert event.facts == FACTS.model_copy(update={"used_tokens": event.request.projection.total})
    assert tries == FitAttempts()


def test_clears_old_outputs_before_it_asks_for_anything() -> None:
    running = fit_request(request(session(6), PRUNES), FitAttempts())

    decided = step(running)
    assert isinstance(decided, DecisionBatch)
    assert {decision.rule for decision in decided.decisions} == {"prune/batch"}
    assert decided.facts.used_tokens is not None
    assert decided.facts.used_tokens > WINDOW
    event = step(running)

    assert isinstance(event, FittedRequest)
    assert event.request.view.decisions == decided.decisions
    assert event.request.projection.total < decided.facts.used_tokens


def test_asks_for_a_summary_and_goes_on_with_what_it_is_sent() -> None:
    tries = FitAttempts()
    running = fit_request(request(session(6)), tries)

    assert step(running) == SummaryNeeded(overflow=False)
    assert tries.compactions == 1
    small = session(1)
    event = step(running, FitOutcome(request(small)))

    assert isinstance(event, FittedRequest)
    assert event.request.view is small


def test_cuts_results_where_a_summary_failed_and_asks_that_it_be_said() -> None:
    small = policy_with_changes(OURS, {"recovery.result_cap": 1_000})
    view, tries = session(6), FitAttempts()
    running = fit_request(request(view, small), tries)
    assert step(running) == SummaryNeeded(overflow=False)

    decided = step(running, FitOutcome(request(view, small), summary_failed=True))
    assert isinstance(decided, DecisionBatch)
    assert {decision.rule for decision in decided.decisions} == {"recover/oversized"}
    assert step(running) == ResultsShortened()
    assert tries.truncations == 1
    event = step(running, FitOutcome(request(view.with_decisions(*decided.decisions), small)))

    assert isinstance(event, FittedRequest)
    assert event.budget_check.fits


def test_gives_up_where_a_summary_failed_and_nothing_is_long_enough_to_cut() -> None:
    view = session(6, chars=2_500)
    running = fit_request(request(view), FitAttempts())
    step(running)

    assert step(running, FitOutcome(request(view), summary_failed=True)) is None


def test_a_request_that_nothing_helps_is_returned_as_one_that_does_not_fit() -> None:
    once = policy_with_changes(OURS, {"compact.max_attempts": 1})
    view = session(6)
    running = fit_request(request(view, once), FitAttempts())
    step(running)

    event = step(running, FitOutcome(request(view, once)))

    assert isinstance(event, FittedRequest)
    assert not event.budget_check.fits


def test_a_refusal_is_answered_by_as_many_summaries_as_the_policy_says() -> None:
    once = policy_with_changes(OURS, {"recovery.compactions": 1})
    view, tries = session(2), FitAttempts()

    first = step(fit_request(request(view, once), tries, "refused"))
    second = step(fit_request(request(view, once), tries, "refused"))

    assert first == SummaryNeeded(overflow=True)
    assert second is None
    assert tries == FitAttempts(compactions=1, refused_compactions=1, truncations=1)


def test_a_full_window_asks_for_a_summary_only_while_tries_last() -> None:
    once = policy_with_changes(OURS, {"compact.max_attempts": 1})
    view, tries = session(2), FitAttempts()

    first = step(fit_request(request(view, once), tries, "full"))
    second = step(fit_request(request(view, once), tries, "full"))

    assert first == SummaryNeeded(overflow=False)
    assert isinstance(second, FittedRequest)


def test_a_prompt_alone_is_not_summarised() -> None:
    view = View((Builder().user("word " * 4_000),))

    event = step(fit_request(request(view), FitAttempts()))

    assert isinstance(event, FittedRequest)
    assert not event.budget_check.fits


def test_the_same_inputs_give_the_same_yields_and_change_nothing() -> None:
    view = session(6)
    before = view.decisions

    once, again = (list(fit_request(request(view, PRUNES), FitAttempts())) for _ in range(2))

    assert once == again
    assert once
    assert view.decisions == before


def test_prunes_after_a_turn_only_where_the_policy_does_that_then() -> None:
    build = Builder()
    turns = []
    for number in range(4):
        turns.append(build.user(f"Turn {number}"))
        turns += [build.assistant(build.ran("bash", "x" * 30_000)) for _ in range(2)]
    view = View(tuple(turns))

    ours = list(prune_after_turn(request(view, PRUNES)))
    [theirs] = prune_after_turn(request(view, PRESETS["opencode-1.1"]))

    assert ours == []
    assert isinstance(theirs, DecisionBatch)
    assert {decision.rule for decision in theirs.decisions} == {"prune/opencode"}
    assert theirs.facts == FACTS
