"""Changes since the system prompt was written are told to the model with the next prompt, once."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import Builder

from palimpsest.context.engine_text.environment_changes import (
    CHANGES_HEADING,
    MAX_NAMED_VARIABLES,
    NEW_KERNEL_HEADING,
    VARIABLES_HEADING,
    EnvironmentState,
    environment_changes,
    has_change_note,
)
from palimpsest.context.engine_text.reminders import FROM_PLAN, TO_PLAN
from palimpsest.transcript.context_values.policies import ReminderPolicy
from palimpsest.transcript.messages import Message, Messages, Origin, UserMessage

TELLING = ReminderPolicy()
FRIDAY, SATURDAY = "Fri Nov 20 2026", "Sat Nov 21 2026"


def at(
    date: str = FRIDAY,
    agent: str = "build",
    variables: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
    *,
    met: bool = False,
) -> EnvironmentState:
    return EnvironmentState(
        first_date=FRIDAY,
        date=date,
        agent=agent,
        variables=variables,
        known_lines=known,
        was_kernel_used=met,
    )


def prompt(build: Builder, agent: str = "build") -> Message:
    message = build.user("go on")
    return message.model_copy(update={"info": message.info.model_copy(update={"agent": agent})})


def told(messages: Messages, now: EnvironmentState) -> list[str]:
    return [item.text for item in environment_changes(messages, now, TELLING)]


def with_news(messages: Messages, now: EnvironmentState) -> Messages:
    """Return the messages with the changes added as synthetic parts to the newest prompt."""
    build = Builder()
    parts = [
        build.text(item.text, synthetic=True, metadata=dict(item.metadata))
        for item in environment_changes(messages, now, TELLING)
    ]
    newest = messages[-1]
    return (*messages[:-1], newest.model_copy(update={"parts": (*newest.parts, *parts)}))


def test_nothing_is_told_while_nothing_changes() -> None:
    build = Builder()
    first = prompt(build)

    assert told((first,), at()) == []
    assert told((first, build.assistant("Hm."), prompt(build)), at(variables={}, known={})) == []


def test_a_new_day_is_told_once() -> None:
    build = Builder()
    messages = with_news((prompt(build),), at(SATURDAY))

    assert [part.text for part in messages[0].parts][1:] == [  # type: ignore[union-attr]
        f"<note>It is {SATURDAY} now.</note>"
    ]
    assert has_change_note(messages[0])
    assert told((*messages, prompt(build)), at(SATURDAY)) == []
    assert told((*messages, prompt(build)), at("Sun Nov 22 2026")) != []


def test_a_day_that_a_summary_hid_is_told_again() -> None:
    build = Builder()
    messages = with_news((prompt(build),), at(SATURDAY))

    assert told((build.assistant("Summary."), prompt(build)), at(SATURDAY)) != []
    assert told((*messages, prompt(build)), at(SATURDAY)) == []


def test_the_way_into_plan_mode_and_out_of_it_is_told_at_the_switch() -> None:
    build = Builder()
    planned = (prompt(build, "build"), build.assistant("Done."), prompt(build, "plan"))
    back = (*planned, build.assistant("A plan."), prompt(build, "build"))

    assert told(planned, at(agent="plan")) == [TO_PLAN]
    assert told(back, at(agent="build")) == [FROM_PLAN]
    assert told((*back, prompt(build, "build")), at(agent="build")) == []
    assert told((prompt(build, "plan"),), at(agent="plan")) == []


def test_what_the_engine_says_is_no_prompt_of_another_agent() -> None:
    build = Builder()
    engine = prompt(build, "compaction")
    assert isinstance(engine.info, UserMessage)
    engine = engine.model_copy(
        update={"info": engine.info.model_copy(update={"origin": Origin(kind="engine")})}
    )

    assert told((prompt(build), engine, prompt(build)), at()) == []


def test_variables_are_told_at_first_and_then_what_changed() -> None:
    build = Builder()
    before, now = (
        {"df": "DataFrame, 3 rows", "x": "int, 1"},
        {"df": "DataFrame, 9 rows", "y": "int, 2"},
    )
    first, then = (prompt(build),), (prompt(build), build.assistant("Hm."), prompt(build))

    assert told(first, at(variables=before)) == [
        f"<variables>\n{VARIABLES_HEADING}\n- df: DataFrame, 3 rows\n- x: int, 1\n</variables>"
    ]
    assert told(then, at(variables=now, known=before)) == [
        f"<variables>\n{CHANGES_HEADING}\n- df: DataFrame, 9 rows\n- y: int, 2 (new)\n- x is gone\n</variables>"
    ]
    assert told(then, at(variables=before, known=before)) == []
    assert told(first, at(variables={})) == []


def test_what_the_agents_own_code_names_is_no_news_to_it() -> None:
    build = Builder()
    ran = build.assistant(build.ran("python", "", code="df = df.dropna()\ndel x"))
    then = (prompt(build), ran, prompt(build))
    before, now = {"df": "9 rows", "x": "int", "z": "1"}, {"df": "3 rows", "z": "2"}

    assert told(then, at(variables=now, known=before)) == [
        f"<variables>\n{CHANGES_HEADING}\n- z: 2\n</variables>"
    ]


def test_a_kernel_that_took_part_before_is_not_said_to_be_new() -> None:
    build = Builder()
    then = (prompt(build), build.assistant("Hm."), prompt(build))

    assert told(then, at(variables={}, met=True)) == []
    assert told(then, at(variables={"x": "int, 1"}, met=True)) == [
        f"<variables>\n{VARIABLES_HEADING}\n- x: int, 1\n</variables>"
    ]


def test_a_kernel_that_was_started_anew_is_told_of_even_when_it_holds_nothing() -> None:
    build = Builder()
    then = (prompt(build), build.assistant("Hm."), prompt(build))

    assert told(then, at(variables={})) == [
        f"<variables>\n{NEW_KERNEL_HEADING}\n- none\n</variables>"
    ]


def test_many_variables_are_named_up_to_a_number() -> None:
    variables = {f"v{n:03d}": "int" for n in range(50)}

    (text,) = told((prompt(Builder()),), at(variables=variables))

    assert text.count("\n- v") == MAX_NAMED_VARIABLES
    assert "30 more" in text


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("xyz")),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("xyz")),
)
def test_changes_are_told_exactly_when_there_are_some(
    before: dict[str, str], now: dict[str, str]
) -> None:
    build = Builder()
    then = (prompt(build), build.assistant("Hm."), prompt(build))

    assert bool(told(then, at(variables=now, known=before))) == (before != now)


def test_another_agent_is_named() -> None:
    build = Builder()
    switched = (prompt(build, "build"), build.assistant("Done."), prompt(build, "teacher"))

    (text,) = told(switched, at(agent="teacher"))

    assert "as the agent teacher; until now it was build" in text
