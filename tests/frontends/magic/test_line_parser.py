"""The text after %agent is parsed into options and a prompt, or a subcommand."""

import pytest

from palimpsest.frontends.magic.line_parser import (
    MagicLine,
    MagicOptions,
    OptionError,
    help_text,
    parse_line,
)
from palimpsest.frontends.operation_base.operation import Operation
from palimpsest.frontends.operation_table import TABLE, Help
from palimpsest.frontends.operations.context import ShowContext
from palimpsest.frontends.operations.turns import Compact


@pytest.mark.parametrize(
    "line",
    [
        'what\'s in "df"?',
        "use {x} and $y, not {{z}}",
        'count "unbalanced',
        "a \\n b \\ c",
        "stop the server and use it",
        "- first, look at df",
        "-5 degrees, is that cold?",
        "status of the build",
    ],
)
def test_a_prompt_is_taken_to_the_letter(line: str) -> None:
    assert parse_line(line) == MagicLine(prompt=line)


def test_reads_options_before_the_prompt() -> None:
    request = parse_line(
        "-m openai/gpt-5 --max-steps=3 --tools python,read -y --system 'Be brief.' go -y"
    )

    assert request.options == MagicOptions(
        model="openai/gpt-5",
        max_steps=3,
        tools=("python", "read"),
        yes=True,
        system="Be brief.",
    )
    assert request.prompt == "go -y"


def test_the_body_of_a_cell_is_the_prompt_and_is_never_searched_for_options() -> None:
    request = parse_line("-q", "-m is an option?\n  stop\n")

    assert request.prompt == "-m is an option?\n  stop"
    assert request.options == MagicOptions(quiet=True)


def test_words_on_the_line_come_before_the_body() -> None:
    assert parse_line("look at this:", "x = 1\n").prompt == "look at this:\n\nx = 1"


def test_tools_none_offers_no_tool() -> None:
    assert parse_line("--tools none hi").options.tools == ()


def test_tools_with_a_dash_are_left_out() -> None:
    assert parse_line("--tools -bash,-task hi").options.tools == {"bash": False, "task": False}


@pytest.mark.parametrize("line", ["--tools read,-bash hi", "--tools '' hi", "--tools , hi"])
def test_tools_that_say_nothing_or_both_are_refused(line: str) -> None:
    with pytest.raises(OptionError):
        parse_line(line)


@pytest.mark.parametrize(
    "name", ["status", "sessions", "stop", "compact", "models", "config", "help"]
)
def test_a_word_alone_is_a_subcommand(name: str) -> None:
    assert type(parse_line(name)) is TABLE.forms[name][1]


def test_nothing_is_a_request_for_help() -> None:
    assert parse_line("") == parse_line("--help") == Help()


def test_two_dashes_end_the_options() -> None:
    assert parse_line("-- stop") == MagicLine(prompt="stop")
    assert parse_line("-y -- --verbose is what?").prompt == "--verbose is what?"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--modle x hi", "Did you mean '--model'?"),
        ("--max-step 3 hi", "Did you mean '--max-steps'?"),
        ("-z hi", "%agent help lists them"),
        ("statsu", "Did you mean %agent status?"),
        ("--max-steps none hi", "a whole number of at least 1"),
        ("--max-steps 0 hi", "a whole number of at least 1"),
        ("-m", "-m needs a value"),
        ("--system 'open hi", "never ends"),
        ("--yes=1 hi", "takes no value"),
        ("--new --session ses_1 hi", "contradict"),
        ("use", "%agent sessions lists them"),
        ("-q", "There is no prompt"),
        ("--model= hi", "There is no prompt"),
    ],
)
def test_wrong_input_gets_one_sentence_that_says_what_to_do(line: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_line(line)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_body_is_no_prompt() -> None:
    with pytest.raises(OptionError):
        parse_line("-y", "  \n\n")


def test_the_help_names_every_option() -> None:
    for word in ("--model", "--variant", "--session", "--max-steps", "%agent sessions"):
        assert word in help_text()


@pytest.mark.parametrize(
    ("line", "argument"),
    [
        ("context", ""),
        ("context at 3", "at 3"),
        ("context at step 3", "at 3"),
        ("context changed 3", "changed 3"),
        ("context changed since 3", "changed 3"),
        ("context changed 3 8", "changed 3 8"),
        ("context why 5", "why 5"),
        ("context why not 5 at 8", "why 5 8"),
        ("context why k3Zq0aab 8", "why k3Zq0aab 8"),
    ],
)
def test_context_takes_a_request_two_requests_or_an_item(line: str, argument: str) -> None:
    assert parse_line(line) == ShowContext(question=argument)


@pytest.mark.parametrize(
    "line", ["context at the end of the file", "context why is it slow", "context changed my mind"]
)
def test_other_words_behind_context_are_a_prompt(line: str) -> None:
    assert parse_line(line) == MagicLine(prompt=line)


@pytest.mark.parametrize("word", ["at", "changed", "why"])
def test_a_keyword_of_context_alone_says_how_it_is_written(word: str) -> None:
    with pytest.raises(OptionError, match=f"Write %agent context {word} "):
        parse_line(f"context {word}")


def test_a_focus_makes_compact_a_subcommand_and_other_words_a_prompt() -> None:
    assert parse_line("compact focus on the plots") == Compact(focus="the plots")
    with pytest.raises(OptionError, match=r"On what\?"):
        parse_line("compact focus on")
    assert parse_line("compact the table") == MagicLine(prompt="compact the table")


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("compact --auto", Compact(auto=True)),
        ("compact --model openai/gpt-5 --auto", Compact(model="openai/gpt-5", auto=True)),
        ("compact -m=x/y focus on it all", Compact(model="x/y", focus="it all")),
    ],
)
def test_compact_takes_a_model_and_whether_to_go_on(line: str, operation: Operation) -> None:
    assert parse_line(line) == operation


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compact --model", "--model needs a value"),
        ("compact --auto the table", "does not take 'the table'"),
        ("compact --mode x", "takes no option --mode"),
        ("compact --auto focus on", "On what?"),
    ],
)
def test_a_slip_behind_compact_is_no_prompt(line: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_line(line)

    assert words in str(caught.value)
