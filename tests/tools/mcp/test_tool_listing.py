"""The tools of a server's list have names of their own, and those that cannot be offered are named."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.tools.mcp.tool_listing import (
    MAX_NAME_CHARS,
    MAX_TOOLS,
    ToolListing,
    approval_text,
    list_offered_tools,
    offered_names,
    tool_name,
)
from palimpsest.tools.mcp.values import RemoteTool

SCHEMA = {"type": "object", "properties": {}}


def listed(*names: str) -> ToolListing:
    return list_offered_tools("x", [RemoteTool(name, f"It is {name}.", SCHEMA) for name in names])


@pytest.mark.parametrize(
    "names",
    [
        ("a.dd", "a dd"),
        ("a.dd", "a dd", "a_dd"),
        ("Read", "read"),
        ("???", "!!!"),
        ("größe", "gräße"),
        ("\u00e9", "e\u0301"),
        ("add", "add\u200b", "a\u202edd"),
        ("x" * 90 + "1", "x" * 90 + "2"),
        ("a" * 62, "A" * 62),
        ("a\ndd", "a\tdd"),
    ],
)
def test_tools_of_one_name_are_both_offered_and_mean_the_same_in_any_order(
    names: tuple[str, ...],
) -> None:
    listing = listed(*names)

    assert listing.left_out == ()
    assert {tool.remote.name for tool in listing.offered_tools} == set(names)
    assert len({tool.name.casefold() for tool in listing.offered_tools}) == len(names)
    assert listed(*reversed(names)) == listing
    assert all(len(tool.name) <= MAX_NAME_CHARS for tool in listing.offered_tools)
    # A rule about the name that they would share holds for each of them.
    assert {tool.permission for tool in listing.offered_tools} == {
        tool_name("x", name) for name in names
    }


def test_a_tool_alone_has_the_plain_name() -> None:
    assert [(tool.name, tool.permission) for tool in listed("say what?").offered_tools] == [
        ("x_say_what_", "x_say_what_")
    ]


def test_a_name_that_was_made_to_equal_a_mark_takes_nothing() -> None:
    (first, _) = listed("a.dd", "a dd").offered_tools
    forged = first.name.removeprefix("x_")

    listing = listed(forged, "a.dd", "a dd")

    assert len(listing.offered_tools) == 2
    assert len(listing.left_out) == 1
    assert first.remote.name in listing.left_out[0]
    assert forged in listing.left_out[0]
    assert listed("a dd", "a.dd", forged) == listing


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("",), "The tool '' of the MCP server 'x' is left out, because it has no name."),
        (("a", "a"), "because the list has two tools of this name."),
    ],
)
def test_what_has_no_name_of_its_own_is_left_out(names: tuple[str, ...], words: str) -> None:
    listing = listed(*names, "fine")

    assert "fine" in [tool.remote.name for tool in listing.offered_tools]
    assert len(listing.left_out) == 1
    assert words in listing.left_out[0]


def test_a_sentence_shows_no_control_characters_and_no_endless_name() -> None:
    (sentence,) = listed("\x1b[2J\u202e" + "x" * 100_000, "\x1b[2J\u202e" + "x" * 100_000).left_out

    assert sentence.isprintable()
    assert len(sentence) < 300


def test_a_schema_that_is_too_large_costs_only_its_own_tool() -> None:
    definitions = {"d0": {"type": "string"}}
    for level in range(1, 20):
        inner = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"type": "object", "properties": {"l": inner, "r": inner}}  # type: ignore[dict-item]
    bomb = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d19"}}, "$defs": definitions}
    tools = [RemoteTool("bomb", "", bomb), RemoteTool("fine", "", SCHEMA)]

    listing = list_offered_tools("x", tools)

    assert [tool.name for tool in listing.offered_tools] == ["x_fine"]
    (sentence,) = listing.left_out
    assert sentence.startswith(
        "The tool 'bomb' of the MCP server 'x' is left out, because its schema has more"
    )


@pytest.mark.slow
def test_ten_thousand_tools_and_hostile_schemas_cost_bounded_time() -> None:
    large = {"type": "object", "properties": {"x": {"enum": ["y" * 300_000]}}}
    heavy = {"type": "object", "properties": {f"p{number}": {} for number in range(9_000)}}
    began = time.process_time()

    many = list_offered_tools(
        "x", [RemoteTool(f"t{number}", "", SCHEMA) for number in range(10_000)]
    )
    refused = list_offered_tools(
        "x", [RemoteTool(f"t{number}", "", large) for number in range(10_000)]
    )
    weighty = list_offered_tools(
        "x", [RemoteTool(f"t{number}", "", heavy) for number in range(10_000)]
    )

    assert time.process_time() - began < 15
    assert len(many.offered_tools) == MAX_TOOLS
    assert "lists 10,000 tools" in many.left_out[-1]
    assert refused.offered_tools == ()
    assert len(weighty.offered_tools) < 40
    assert all(len(listing.left_out) <= 7 for listing in (many, refused, weighty))


def test_a_description_cannot_write_the_other_facts() -> None:
    """Each line of a server's text is indented, and what draws nothing is written out."""
    tool = RemoteTool("a\nb", "x\nserver: other\ninput:\u202e\x1b[2J", SCHEMA, "t\nserver: y")

    lines = approval_text("s", "run me", tool).split("\n")

    assert [line for line in lines if line.startswith(("server:", "input:"))] == [
        "server: run me",
        "input:",
    ]
    assert all(line.isprintable() for line in lines)


NAMES = st.lists(st.text("aA_. -?é", max_size=4), max_size=6, unique=True)


@given(NAMES)
def test_no_two_tools_share_a_name(names: list[str]) -> None:
    """Every tool is offered under a name of its own or is left out, whatever the order."""
    found, taken = offered_names("x", names)

    assert len({name.casefold() for name in found.values()}) == len(found)
    assert {*found, *(tool for tool, _ in taken)} == set(names)
    assert offered_names("x", list(reversed(names))) == (found, taken)
