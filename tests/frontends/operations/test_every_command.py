"""Every subcommand of %agent in a real kernel prints text or a clear error, whatever its arguments."""

from collections.abc import Iterator

import pytest
from tests.harness.kernel import Kernel, Run
from tests.sample_size import sampled_cases, thinned

from palimpsest.frontends.operation_table import TABLE

pytestmark = pytest.mark.slow

GOES = frozenset({"archive"})
"""Subcommands that close the session, so that the others would have none; they have tests of their own."""


def said(run: Run) -> str:
    """Return the text below the cell: the output, or the message of the error."""
    refusal = run.reply["content"].get("ename", "")
    assert refusal in {"", "UsageError"}
    return run.markdown() + run.stream("stdout") + run.stream("stderr")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in which nothing was prompted yet."""
    with Kernel(cwd=tmp_path_factory.mktemp("empty")) as kernel:
        kernel.load_scripted_model()
        yield kernel


FORMS = sorted(TABLE.forms)


@pytest.mark.parametrize("command", thinned(sorted(set(TABLE.forms) - GOES), 8))
def test_answers_where_there_is_no_session_yet(empty: Kernel, command: str) -> None:
    words = said(empty.client.run(f"%agent {command}"))

    assert len(words.split()) > 2
    assert "Traceback" not in words


@pytest.fixture(scope="module")
def asked(kernel: Kernel) -> Kernel:
    """A kernel with a session in which a prompt was answered."""
    kernel.script("says('Good morning to all of you.')")
    kernel.client.run("%agent Good morning?")
    return kernel


@pytest.mark.parametrize("command", thinned(sorted(set(TABLE.forms) - GOES), 8, 1))
def test_answers_after_a_turn(asked: Kernel, command: str) -> None:
    words = said(asked.client.run(f"%agent {command}", stdin=True))

    assert len(words.split()) > 2
    assert "Traceback" not in words


@pytest.mark.parametrize("command", sampled_cases(FORMS, *FORMS[::4]))
def test_an_option_that_no_command_has_is_named_and_sends_nothing(
    kernel: Kernel, command: str
) -> None:
    kernel.script("says('This was sent.')")

    run = kernel.client.run(f"%agent {command} --no-such-option=1")

    assert run.reply["content"]["ename"] == "UsageError"
    assert "--no-such-option" in run.reply["content"]["evalue"]
    assert kernel.requests() == "[]"
