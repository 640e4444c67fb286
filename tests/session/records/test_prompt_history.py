"""Earlier prompts of a project are listed newest first, this session's before those of the others."""

from collections.abc import Sequence

import pytest

from palimpsest.session.records.prompt_history import MAX_PROMPT_CHARS, MAX_PROMPTS, prompt_page
from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError


def summary(
    name: str, updated: int, parent: str | None = None, imported: str = ""
) -> SessionSummary:
    return SessionSummary(
        name, name, None, updated, updated, parent_id=parent, imported_from=imported
    )


SESSIONS = (summary("now", 2), summary("old", 1), summary("late", 3))
TYPED = {"now": ["a", "b", "b", "c"], "old": ["first"], "late": ["x", "y"]}


def typed(session_id: str) -> Sequence[str]:
    return TYPED[session_id]


def test_this_sessions_prompts_come_first_then_those_of_the_newest_session() -> None:
    page = prompt_page(SESSIONS, typed, "now")

    assert page.prompts == ("c", "b", "a", "y", "x", "first")
    assert page.cursor is None


def test_leaves_out_what_no_person_typed_here() -> None:
    more = (*SESSIONS, summary("task", 9, parent="now"), summary("pi", 8, imported="pi"))

    page = prompt_page(more, lambda name: TYPED.get(name, ["of an agent"]), "now")

    assert "of an agent" not in page.prompts


def test_goes_on_where_the_page_before_ended() -> None:
    many = [str(number) for number in range(2 * MAX_PROMPTS + 5)]
    prompts: list[str] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor is not None:
        page = prompt_page(SESSIONS, lambda name: many if name == "now" else [], "now", cursor)
        prompts += page.prompts
        cursor = page.cursor
        pages += 1

    assert prompts == many[::-1]
    assert pages == 3


def test_leaves_out_a_prompt_that_is_too_long_for_a_page() -> None:
    page = prompt_page(SESSIONS[:1], lambda _: ["short", "x" * (MAX_PROMPT_CHARS + 1)], "now")

    assert page.prompts == ("short",)


def test_refuses_what_is_no_end_of_a_page() -> None:
    with pytest.raises(UserError, match="is not the end of a page"):
        prompt_page(SESSIONS, typed, "now", "nowhere")
