"""A recorded answer holds while its cell's prompt and everything above it are unchanged."""

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.interfaces.recorded_answers import CellPrompt, RecordedTurn
from palimpsest.session.replay.recorded_turns import (
    answer_of,
    compaction_prompt,
    find_recorded,
    recorded_turns,
)
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import CompactionPart, TextPart
from palimpsest.transcript.values import ModelRef

SESSION = "ses_1"
MODEL = ModelRef(provider="openai", name="gpt-4o", variant="high")


def prompt(
    at: int, text: str, cell: str | None = None, *, kind: str = "cell", **more: object
) -> Message:
    origin = Origin(kind=kind, cell_id=cell)
    info = UserMessage(
        id=f"msg_{at}",
        session_id=SESSION,
        time=MessageTime(created=at),
        agent="build",
        model=MODEL,
        origin=origin,
    ).model_copy(update=more)
    part = TextPart(id=f"prt_{at}", session_id=SESSION, message_id=info.id, text=text)
    return Message(info=info, parts=(part,))


def reply(at: int, text: str = "Yes.", finish: str | None = "stop") -> Message:
    info = AssistantMessage(
        id=f"msg_{at}", session_id=SESSION, parent_id="msg_0", time=MessageTime(created=at, completed=at),
        agent="build", model=MODEL, path=MessagePath(cwd="/", root="/"), finish=finish,
    )  # fmt: skip
    part = TextPart(id=f"prt_{at}", session_id=SESSION, message_id=info.id, text=text)
    return Message(info=info, parts=(part,))


def found(
    messages: tuple[Message, ...], text: str, cell: str | None, reached: int = 0, **options: object
) -> object:
    given = CellPrompt(text, PromptOptions(**options), cell)  # type: ignore[arg-type]  # of the tests' own
    verdict = find_recorded(recorded_turns(SESSION, messages), given, reached)
    return verdict.id if isinstance(verdict, RecordedTurn) else verdict


TALK = (prompt(1, "Add.", "a"), reply(2), prompt(3, "Mean?", "b"), reply(4))


def test_the_same_cell_with_the_same_words_is_found() -> None:
    assert found(TALK, "Add.", "a") == "msg_1"
    assert found(TALK, "Mean?", "b", reached=1) == "msg_3"
    assert found(TALK, "Add them.", "a") == "changed"
    assert found(TALK, "Add.", "c") == "msg_1"  # a format that keeps no ids names cells anew
    assert found(TALK, "Max?", "c") == "new"


def test_what_was_asked_before_something_above_is_moved() -> None:
    again = (*TALK, prompt(5, "Add.", "a"), reply(6))

    assert found(again, "Add.", "a") == "msg_5"
    assert found(again, "Mean?", "b", reached=5) == "moved"
    assert found((*again, prompt(7, "Mean?", "b"), reply(8)), "Mean?", "b", reached=5) == "msg_7"


def test_a_turn_that_was_stopped_or_failed_does_not_hold() -> None:
    assert found((prompt(1, "Add.", "a"), reply(2, finish="error")), "Add.", "a") == "unfinished"
    assert found((prompt(1, "Add.", "a"),), "Add.", "a") == "unfinished"
    whole = (prompt(1, "Add.", "a"), reply(2), prompt(3, "Add.", "a"), reply(4, finish="error"))
    assert found(whole, "Add.", "a") == "msg_1"


def test_cells_without_ids_are_told_apart_by_their_order() -> None:
    talk = (prompt(1, "Go on.", "a"), reply(2), prompt(3, "Go on.", "b"), reply(4))

    assert found(talk, "Go on.", None) == "msg_1"
    assert found(talk, "Go on.", None, reached=1) == "msg_3"


def test_a_loop_in_one_cell_gets_its_answers_in_order() -> None:
    def run(first: int, count: int) -> tuple[Message, ...]:
        talk: list[Message] = []
        for at in range(first, first + 6, 2):
            origin = Origin(kind="cell", cell_id="a", execution_count=count)
            talk += [prompt(at, "Go on.", "a", origin=origin), reply(at + 1)]
        return tuple(talk)

    once = run(1, 4)
    assert [found(once, "Go on.", "a", reached) for reached in (0, 1, 3, 5)] == [
        "msg_1",
        "msg_3",
        "msg_5",
        "moved",
    ]
    twice = (*once, *run(9_001, 4))
    assert found(twice, "Go on.", "a") == "msg_9001"


def test_the_panels_prompts_belong_to_no_cell_and_end_a_turn() -> None:
    talk = (
        prompt(1, "Add.", "a"),
        reply(2),
        prompt(3, "By the way", kind="panel"),
        reply(4, "Aside."),
    )
    turns = recorded_turns(SESSION, talk)

    assert [turn.id for turn in turns] == ["msg_1"]
    assert answer_of(turns[0]).text == "Yes."
    assert found(talk, "By the way", None) == "new"


def test_other_options_are_another_prompt() -> None:
    assert found(TALK, "Add.", "a", model="gpt-4o", variant="high", agent="build") == "msg_1"
    for options in (
        {"model": "openai/gpt-5"},
        {"variant": "low"},
        {"agent": "plan"},
        {"system": "Be brief."},
        {"tools": ()},
        {"max_steps": 3},
    ):
        assert found(TALK, "Add.", "a", **options) == "changed"


def test_a_compaction_that_a_cell_asked_for_is_found_and_an_automatic_one_is_none() -> None:
    def marker(at: int, *, auto: bool) -> Message:
        begun = prompt(at, "", "c")
        part = CompactionPart(
            id=f"prt_{at}", session_id=SESSION, message_id=begun.id, auto=auto, focus="sums"
        )
        return begun.model_copy(update={"parts": (part,)})

    by_cell = (*TALK, marker(5, auto=False), reply(6))
    assert found(by_cell, compaction_prompt("sums"), "c", reached=3) == "msg_5"
    assert found(by_cell, compaction_prompt(None), "c") == "changed"
    own = (prompt(1, "Add.", "a"), marker(2, auto=True), reply(3), reply(4, "Whole."))
    assert [len(turn.messages) for turn in recorded_turns(SESSION, own)] == [3]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=6))
def test_what_is_shown_in_one_run_was_asked_in_that_order(asked: list[str], run: list[str]) -> None:
    messages: list[Message] = []
    for cell in asked:
        messages += [prompt(len(messages) + 1, f"Ask {cell}.", cell), reply(len(messages) + 2)]
    turns = recorded_turns(SESSION, tuple(messages))
    reached, shown = 0, []
    for cell in run:
        verdict = find_recorded(turns, CellPrompt(f"Ask {cell}.", PromptOptions(), cell), reached)
        if isinstance(verdict, RecordedTurn):
            assert verdict.cell_id == cell
            assert verdict.asked_ms == max(turn.asked_ms for turn in turns if turn.cell_id == cell)
            reached = verdict.asked_ms
            shown.append(reached)
        else:
            own = [turn.asked_ms for turn in turns if turn.cell_id == cell]
            assert verdict == ("moved" if own else "new")
            assert all(moment <= reached for moment in own)

    assert shown == sorted(set(shown))
