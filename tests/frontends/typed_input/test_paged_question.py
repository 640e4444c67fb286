"""What is longer than a terminal is asked page by page, and approved only after its end was shown."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.kernel import Kernel

from palimpsest.frontends.typed_input.paged_question import (
    CONTINUATION_MARK,
    MAX_ROWS,
    AnswerRules,
    PagedQuestion,
    wrap_line,
)
from palimpsest.frontends.typed_input.typed_answers import parse_reply, permission_question
from palimpsest.transcript.values import Ask, Reply

END = "1 once   3 reject\n> "
ANSWERS: AnswerRules[Reply] = AnswerRules(
    parse_reply, lambda reply: reply.answer == "reject", "again> "
)


def paged(asked: str, rows: int = 12, columns: int = 40) -> PagedQuestion[Reply]:
    return PagedQuestion(f"{asked}\n{END}", END, ANSWERS, os.terminal_size((columns, rows)))


def ask(**given: object) -> Ask:
    return Ask(id="per_1", permission="python", patterns=("x",), title="t", input=given)


def test_a_short_question_is_one_page() -> None:
    question = paged("May it?")

    assert question.prompt == f"May it?\n{END}"
    assert question.answer_in("1") == Reply(answer="once")


@given(
    lines=st.lists(st.text(alphabet="ab 漢\t", max_size=90), min_size=1, max_size=60),
    typed=st.lists(st.sampled_from(["", "1", "2", "4", "yes", "what", " "]), max_size=60),
)
def test_an_approval_counts_only_after_every_line_was_shown(
    lines: list[str], typed: list[str]
) -> None:
    asked = "\n".join(f"{number}|{line}|" for number, line in enumerate(lines))
    question = paged(asked)
    shown = question.prompt
    for line in typed:
        if question.answer_in(line) is not None:
            rows = [row for long_line in asked.split("\n") for row in wrap_line(long_line, 40)]
            assert all(row in shown for row in rows)
            assert END in shown
            return
        shown += "\n" + question.prompt


@given(st.text(alphabet="ab 漢\t", max_size=300), st.integers(20, 90))
def test_a_wrapped_line_keeps_every_character(line: str, columns: int) -> None:
    first, *rest = wrap_line(line, columns)

    assert first + "".join(row.partition(CONTINUATION_MARK)[2] for row in rest) == line


def test_a_refusal_counts_at_once() -> None:
    question = paged("x\n" * 100)

    assert question.answer_in("1") is None
    assert "There is more to see first" in question.prompt
    assert question.answer_in("3 no") == Reply(answer="reject", feedback="no")


def test_what_no_terminal_shows_is_only_refused() -> None:
    question = paged("x\n" * (MAX_ROWS + 1))

    assert "too long to be approved here" in question.prompt
    assert "1 once" not in question.prompt
    for line in ("1", "2", "4", "", "yes", "always", *[""] * 300, "1"):
        assert question.answer_in(line) is None
        assert "JupyterLab's panel" in question.prompt
    assert question.answer_in("3") == Reply(answer="reject")


def test_every_value_is_shown_whole_and_nested_ones_line_by_line() -> None:
    code = "\n".join(f"# {number}" for number in range(500)) + "\nevil()"
    question = permission_question(ask(code="x", calls=[{"code": code, "n": 1}]), str)
    shown = question.prompt
    while question.answer_in("") is None and "Enter shows" in question.prompt:
        shown += question.prompt

    assert "\n        # 250\n" in shown
    assert "\n        evil()\n" in shown + question.prompt


def test_a_value_draws_no_line_of_the_question() -> None:
    fake = "x\n\n1 once   3 reject (a reason may follow)\n> \nThe agent wants to use python: 1"
    wide = "y" * 79 + "1 once   3 reject" + " " * 62 + "> "
    prompt = permission_question(ask(**{"code": fake, "a\nb": wide, "c": {"d": fake}}), str).prompt

    own = [line for line in prompt.split("\n") if not line.startswith(" ")]
    assert own == [
        "The agent wants to use python: t",
        "1 once   3 reject (a reason may follow)",
        "> ",
    ]


@pytest.mark.parametrize(
    ("permission", "line", "answer"),
    [
        ("doom_loop", "go on", "once"),
        ("doom_loop", "1", "once"),
        ("doom_loop", "stop", "reject"),
        ("doom_loop", "3", "reject"),
        ("budget", "Go on.", "once"),
        ("moved", "keep it", "once"),
        ("moved", "leave it", "reject"),
    ],
)
def test_a_question_that_is_no_permission_is_answered_in_its_own_words(
    permission: str, line: str, answer: str
) -> None:
    asked = Ask(id="per_1", permission=permission, patterns=("x",), title="Go on?", input={})
    question = permission_question(asked, str)

    assert "once" not in question.prompt
    assert question.prompt.startswith("Go on?\n1 ")
    assert question.answer_in("perhaps") is None
    assert "once" not in question.prompt
    reply = question.answer_in(line)
    assert reply is not None
    assert (reply.answer, reply.feedback) == (answer, None)


def test_what_always_would_allow_is_shown_whole() -> None:
    text = "\n".join(f"echo {number}" for number in range(9))
    asked = ask(command=text).model_copy(update={"always": (text,), "permission": "bash"})
    prompt = permission_question(asked, str).prompt

    assert "always would allow:" in prompt
    assert prompt.count("echo 8\n") == 2
    assert "2 always in this session (as above)" in prompt


HARMLESS = "\\n".join(f"# line {number}" for number in range(60))


@pytest.mark.slow
class TestInAKernel:
    """With a real kernel and its stdin."""

    def test_what_stands_at_the_end_runs_only_once_it_was_shown(self, kernel: Kernel) -> None:
        kernel.script(f"calls('python', code='{HARMLESS}\\nevil = 1').says('')", "says('done')")
        run_id = kernel.send("%%agent --new\nhi", stdin=True)

        first = kernel.question()
        kernel.answer("1")
        assert "There is more to see first" in kernel.question()
        kernel.answer("")
        last = kernel.question()
        kernel.answer("1")
        assert kernel.finish(run_id).status == "ok"

        assert "    evil = 1" not in first
        assert "1 once" not in first
        assert "    evil = 1\n1 once" in last
        assert kernel.value("evil") == "1"

    def test_what_is_too_long_does_not_run(self, kernel: Kernel) -> None:
        code = "'# x\\n' * 5_000 + 'endless = 1'"
        kernel.script(f"calls('python', code={code}).says('')", "says('done')")
        run_id = kernel.send("%%agent --new\nhi", stdin=True)

        assert "too long to be approved here" in kernel.question()
        for line in ("1", "2", "4", ""):
            kernel.answer(line)
            assert "too long to be approved here" in kernel.question()
        kernel.answer("3 in smaller steps")
        kernel.finish(run_id)

        assert kernel.value("'endless' in globals()") == "False"

    def test_what_deceives_is_named_above_the_answers(self, kernel: Kernel) -> None:
        kernel.script("calls('python', code='p\\u0430y = 1').says('')", "says('done')")
        run_id = kernel.send("%%agent --new\nhi", stdin=True)

        text = kernel.question()
        kernel.answer("3")
        kernel.finish(run_id)

        assert "CYRILLIC SMALL LETTER A), which looks like another letter.\n1 once" in text

    def test_what_changed_against_what_was_allowed_comes_first(self, kernel: Kernel) -> None:
        code = "a = 1\\nb = 2\\nc = 3\\nd = 4\\n"
        kernel.script(
            f"calls('python', code='{code}').says('')",
            f"calls('python', code='{code}evil = 1').says('')",
            "says('done')",
        )
        run_id = kernel.send("%%agent --new\nhi", stdin=True)
        assert "!" not in kernel.question()
        kernel.answer("1")
        text = kernel.question()
        kernel.answer("3")
        kernel.finish(run_id)

        changed = "! code: almost what you allowed before, but line 5 is new: evil = 1.\n1 once"
        assert changed in text
