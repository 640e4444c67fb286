"""A history too long for one summary request is split into stages that cover each message once."""

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder

from palimpsest.context.compaction.stages import NOTE_TOKENS, StageProgress, SummaryStage, stage_end
from palimpsest.transcript.messages import Messages


def messages(count: int) -> Messages:
    build = Builder()
    return tuple(build.user(f"Question {number}") for number in range(count))


def told(weights: list[int], room: int) -> list[SummaryStage]:
    parts = StageProgress(messages(len(weights)), tuple(weights))
    found = []
    while True:
        stretch = parts.next_stage(room)
        found.append(stretch)
        if stretch.is_final:
            return found
        parts = parts.after_request(stretch, f"req_{stretch.number}")


def test_a_stretch_takes_as_much_as_fits() -> None:
    assert stage_end([30, 30, 30, 30], 0, 100) == (3, ())
    assert stage_end([30, 30, 30, 30], 3, 100) == (4, ())


def test_what_fits_into_no_stretch_is_left_out() -> None:
    assert stage_end([30, 500, 30], 0, 100) == (3, (1,))


def test_a_message_left_out_still_leaves_a_note() -> None:
    assert stage_end([100 - NOTE_TOKENS, 500, 1], 0, 100) == (2, (1,))
    assert stage_end([101 - NOTE_TOKENS, 500, 1], 0, 100) == (1, ())


def test_each_stretch_goes_on_with_the_summary_before() -> None:
    first, second = told([60, 60], 100)

    assert (first.number, first.prior_request_id, first.is_final) == (1, None, False)
    assert (second.number, second.prior_request_id, second.is_final) == (2, "req_1", True)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(50, 200))
def test_every_message_is_told_or_left_out_exactly_once(weights: list[int], room: int) -> None:
    given_messages = messages(len(weights))
    found = told(weights, room)

    stretches = [stretch.messages_of(given_messages) for stretch in found]
    assert tuple(message for stretch in stretches for message in stretch) == given_messages
    for stretch, these in zip(found, stretches, strict=True):
        assert these
        ids = {message.id: weight for message, weight in zip(given_messages, weights, strict=True)}
        kept = [ids[message.id] for message in these if message.id not in stretch.left_out]
        assert all(weight <= room for weight in kept)
        assert all(ids[name] == tokens > room for name, tokens in stretch.left_out.items())
        if len(these) > 1:
            assert sum(kept) + NOTE_TOKENS * len(stretch.left_out) <= room
    assert len(found) >= StageProgress(given_messages, tuple(weights)).minimum_requests(room) - sum(
        weight > room for weight in weights
    )


@given(st.lists(st.integers(1, 300), min_size=1, max_size=20), st.integers(50, 200))
def test_a_stretch_is_read_back_from_a_decision(weights: list[int], room: int) -> None:
    for stretch in told(weights, room):
        assert SummaryStage.from_numbers({"result_chars": 100, **stretch.numbers()}) == stretch


def test_numbers_without_a_stage_tell_everything_at_once() -> None:
    assert SummaryStage.from_numbers({"result_chars": 2_000}) is None


def test_messages_that_are_gone_are_no_stretch() -> None:
    assert SummaryStage(1, "msg_gone", "msg_gone", is_final=True).messages_of(messages(2)) == ()


def test_where_no_message_fits_there_is_no_hope() -> None:
    assert StageProgress(messages(2), (300, 400)).nothing_fits(100)
    assert not StageProgress(messages(2), (300, 40)).nothing_fits(100)
