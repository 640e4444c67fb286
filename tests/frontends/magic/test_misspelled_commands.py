"""A line that resembles a subcommand is not sent to a model: an error names the right subcommand."""

import re

import pytest
from tests.harness.kernel import Kernel
from tests.sample_size import thinned

from palimpsest.frontends.magic.line_parser import MagicLine, OptionError, parse_line
from palimpsest.frontends.magic.misspelled_commands import PROMPT_COMMANDS
from palimpsest.frontends.operation_table import TABLE


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mend", "none is called 'mend'; %agent help lists them"),
        ("Status", "Did you mean %agent status?"),
        ("model", "Did you mean %agent -m NAME?"),
        ("undo", "Did you mean %agent revert?"),
        ("export pdf", "%agent export [md|ipynb|json|html|opencode|atif] [path]"),
        ("config trst", "Did you mean %agent config trust?"),
        ("config trust me", "%agent config does not take 'trust me'"),
        ("confg trust", "Did you mean %agent config trust?"),
        ("budget lots", "%agent budget 2usd, 500k tokens, or off"),
        ("budget 5 euros", "%agent budget 2usd, 500k tokens, or off"),
        ("bugdet 2usd", "Did you mean %agent budget 2usd?"),
        ("help me", "%agent help does not take 'me'"),
        ("delete nope --yes", "'nope' is no session's id; %agent sessions lists them"),
        ("delete nope", "'nope' is no session's id; %agent sessions lists them"),
        ("deleet ses_0123 --yes", "Did you mean %agent delete ses_0123 --yes?"),
        ("delete the session ses_0123", "%agent delete ID --yes"),
        ("storage the --days 3", "takes no option --days"),
        ("withdraw al", "Did you mean %agent withdraw all?"),
        ("permissions revoke first", "%agent permissions does not take 'revoke first'"),
        ("compact focus the plots", "[focus on ...]"),
        ("model gpt-5", "Did you mean %agent -m NAME?"),
        ("titel Penguins by island", "Did you mean %agent title Penguins by island?"),
        ("--new status", "%agent status takes no options before it"),
        ("-y statsu", "Did you mean %agent status?"),
    ],
)
def test_a_slip_gets_a_sentence_that_names_the_right_one(line: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_line(line)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def named(line: str) -> bool:
    """Return whether a line is a subcommand, or is refused with a suggestion that is one."""
    try:
        return not isinstance(parse_line(line), MagicLine)
    except OptionError as error:
        return "%agent" in str(error)


@pytest.mark.parametrize("name", thinned(sorted(TABLE.forms.keys() - PROMPT_COMMANDS), 3))
def test_a_subcommand_with_a_word_that_it_does_not_take_is_never_a_prompt(name: str) -> None:
    for line in (f"{name} qwertz", f"{name} --qwertz", f"{name} it now --yes", f"-q {name}"):
        assert named(line), line


@pytest.mark.parametrize("name", thinned(sorted(TABLE.forms), 3))
def test_a_subcommand_with_one_slip_is_never_a_prompt(name: str) -> None:
    for at in range(len(name) - 1):
        exchanged = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        for slip in (exchanged, name[:at] + name[at + 1 :], name[: at + 1] + name[at:]):
            assert named(slip), slip


@pytest.mark.parametrize(
    "line",
    [
        "hi",
        "Continue",
        "why?",
        "总结数据",
        "explore df",
        "explore penguins.csv",
        "show df",
        "help me plot this",
        "export the table as csv",
        "delete the last row of the table",
        "mode of the data",
        "/tidy df",
        "fix it",
        "explain df",
        "fix the plot in cell 4",
        "@general look at df",
    ],
)
def test_what_a_person_says_stays_a_prompt(line: str) -> None:
    assert parse_line(line) == MagicLine(prompt=line)


def test_what_the_sentence_offers_sends_the_line() -> None:
    with pytest.raises(OptionError) as caught:
        parse_line("export pdf")

    offered = re.search(r"write %agent (-- .*)", str(caught.value))

    assert offered is not None
    assert parse_line(offered[1]) == MagicLine(prompt="export pdf")


@pytest.mark.slow
def test_a_slip_asks_no_model(kernel: Kernel) -> None:
    kernel.script("says('This was sent.')")

    run = kernel.run("%agent export pdf")

    assert run.reply["content"]["ename"] == "UsageError"
    assert kernel.requests() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "above", ["# What is the mean?\n", "\n  # twice\n# what's that?\n", "x = 1\n"]
)
def test_what_stands_above_the_cell_magic_gets_a_sentence_that_helps(
    kernel: Kernel, above: str
) -> None:
    kernel.script("says('This was sent.')")

    run = kernel.run(f"{above}%%agent\nWhat's the mean of {{x}}?\n")

    assert run.reply["content"]["ename"] == "UsageError"
    assert "%%agent belongs into the first line of its cell" in run.reply["content"]["evalue"]
    assert kernel.requests() == "[]"


@pytest.mark.slow
def test_a_console_that_refreshes_nothing_is_shown_the_answer(kernel: Kernel) -> None:
    kernel.script("thinks('Hm.').says('Hello **there**.')")

    run = kernel.client.finish(kernel.client.send("%agent hi", stdin=True, console=True))

    assert "Hello **there**." in run.stream()
    assert run.of("update_display_data") == []
