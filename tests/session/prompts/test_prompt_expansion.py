"""A command's template is expanded: arguments, shell output, files; a prompt's agents are found."""

import pytest

from palimpsest.session.prompts.prompt_syntax import (
    PromptShellCommand,
    agent_mentions,
    command_in,
    file_mentions,
    fill_template,
    shell_pieces_of,
    split_arguments,
    subtasks_in,
)


@pytest.mark.parametrize(
    ("template", "arguments", "text"),
    [
        ("Look at $1.", "a.py", "Look at a.py."),
        ("Compare $1 with $2", "a b c", "Compare a with b c"),
        ("Only $1", "a b c", "Only a b c"),
        ("$2 before $1", "a 'b c' d", "b c d before a"),
        ("All: $ARGUMENTS!", 'a "b c"', 'All: a "b c"!'),
        ("No place.", "for this", "No place.\n\nfor this"),
        ("No place.", "", "No place."),
        ("Missing [$3]", "a", "Missing []"),
        ("Cost $0 and $ARGUMENTS", "$1 \\1", "Cost $0 and $1 \\1"),
        ("$1", "$ARGUMENTS", "$ARGUMENTS"),
    ],
)
def test_arguments_take_their_places(template: str, arguments: str, text: str) -> None:
    assert fill_template(template, arguments) == text


def test_quoted_words_are_one() -> None:
    assert split_arguments("""a "b c" 'd e' f"g""") == ["a", "b c", "d e", 'f"g']


def test_shell_commands_are_cut_out_of_the_words() -> None:
    assert shell_pieces_of("a !`git status` b !`ls`") == [
        "a ",
        PromptShellCommand("git status"),
        " b ",
        PromptShellCommand("ls"),
        "",
    ]
    assert shell_pieces_of("wow! `code`") == ["wow! `code`"]


def test_files_stand_behind_an_at_sign() -> None:
    text = "See @a.py, @src/b.md. and (@./c/d.txt), not me@mail.org nor `@x.py`, nor @explore."
    mentions = file_mentions(text, {"explore"})
    assert [mention.path for mention in mentions] == ["a.py", "src/b.md", "./c/d.txt"]
    assert [text[mention.start : mention.end] for mention in mentions] == [
        "@a.py",
        "@src/b.md",
        "@./c/d.txt",
    ]


def test_a_prompt_that_names_a_command_is_one() -> None:
    assert command_in("/review a b\nc") == ("review", "a b\nc")
    assert command_in(" /git/commit ") == ("git/commit", "")
    assert command_in("say /review") is None
    assert command_in("// a comment") is None


def test_agents_are_named_behind_an_at_sign() -> None:
    mentions = agent_mentions("Ask @explore, not a@general or @nobody.", {"explore", "general"})
    assert [(mention.name, mention.start, mention.end) for mention in mentions] == [
        ("explore", 4, 12)
    ]


def test_a_prompt_that_begins_with_an_agent_is_for_it() -> None:
    known = {"explore", "general"}

    assert subtasks_in("@explore where is x?", known) == [("explore", "where is x?")]
    both = "@explore where is x?\nAnd y?\n@general mend it with @explore"
    assert subtasks_in(both, known) == [
        ("explore", "where is x?\nAnd y?"),
        ("general", "mend it with @explore"),
    ]
    assert subtasks_in("Please, @explore look", known) == []
    assert subtasks_in("@explore", known) == []
