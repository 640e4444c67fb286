"""``%agent`` at the start of a line becomes an awaited call, and other lines are unchanged."""

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from palimpsest.frontends.magic.await_transform import (
    first_line_notice,
    question_transform,
    rewrite_calls,
)


def transform(cell: str, *, possible: bool = True) -> str:
    manager = TransformerManager()
    manager.cleanup_transforms.append(question_transform)
    lines = manager.transform_cell(cell).splitlines(keepends=True)
    return "".join(rewrite_calls(lines, can_await=lambda: possible))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%agent hi", "await get_ipython().run_line_magic('_agent_await_show', 'hi')\n"),
        ("a = %agent hi", "a = await get_ipython().run_line_magic('_agent_await', 'hi')\n"),
        (
            "%%agent -y\nhi {x}\n",
            "await get_ipython().run_cell_magic('_agent_await_show', '-y', 'hi {x}\\n')\n",
        ),
        (
            "é = 'ü'\na = %agent é?\n",
            "é = 'ü'\na = await get_ipython().run_line_magic('_agent_await', 'é?')\n",
        ),
    ],
)
def test_a_statement_of_its_own_is_awaited(cell: str, expected: str) -> None:
    assert transform(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "for q in qs:\n    %agent hi\n",
        "def f():\n    return get_ipython().run_line_magic('agent', 'hi')\n",
        "x = [get_ipython().run_line_magic('agent', 'hi')]\n",
        "s = '''\nget_ipython().run_line_magic('agent', 'hi')\n'''\n",
        "%%time\n%agent hi\n",
        "%other hi",
        "%%agent\n",
        "this is no python get_ipython().run_line_magic('agent', 'x')\n",
    ],
)
def test_everything_else_stays_as_it_is(cell: str) -> None:
    assert "await" not in transform(cell)


def test_nothing_is_awaited_while_a_cell_runs() -> None:
    assert transform("%agent hi", possible=False) == "get_ipython().run_line_magic('agent', 'hi')\n"


@pytest.mark.parametrize(
    ("cell", "prompt"),
    [
        ("%agent what is df?", "'what is df?'"),
        ("%agent what is df??", "'what is df??'"),
        ("a = %agent what is df?", "'what is df?'"),
        ("if x:\n    %agent what is df?\n", "'what is df?'"),
        ("%%agent\nwhat is df?", "'what is df?\\n'"),
    ],
)
def test_a_prompt_may_end_in_a_question_mark(cell: str, prompt: str) -> None:
    assert prompt in transform(cell)


@pytest.mark.parametrize("cell", ["%agent?", "%%agent?", "%agent??", "?%agent"])
def test_the_magic_with_a_question_mark_is_help(cell: str) -> None:
    assert "pinfo" in transform(cell)


def test_a_question_inside_a_string_stays_as_it_is() -> None:
    cell = 's = """\n%agent what?\n"""\n'

    assert transform(cell) == cell


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\n%%agent\nhi\n",
        "s = '''\n%%agent\n'''\n",
        "\n\n%%agent\nhi\n",
        "x = 1\n%agent hi\n",
        "%%markdown\n# Ask\n%%agent\n",
    ],
)
def test_a_cell_magic_that_stands_right_is_left_alone(cell: str) -> None:
    lines = cell.lstrip("\n").splitlines(keepends=True)

    assert first_line_notice(lines) == lines


def test_a_comment_above_the_cell_magic_is_named() -> None:
    told = "get_ipython().run_line_magic('_agent_not_first', '')\n"

    assert first_line_notice(["# What is it?\n", "%%agent\n", "what's it\n"]) == [told]
