"""Tool definitions are told one by one, and share exactly the tokens of the item that holds them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.session import SessionHarness, ask
from tests.recordings.formats.captures import response, tap_line, user, write_lines
from tests.recordings.formats.imported import import_file
from tests.review.request_contents.reviewed import imported_review, pi_review, review_of

from palimpsest.model.script import says
from palimpsest.review.request_contents.tool_definitions import shared_by_length, tool_definitions
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskItem, AskView
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.testing import ScriptedModel

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def tool(name: str, description: str = "Does it.") -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": SCHEMA}


def captured(folder: Path, *offered: list[dict[str, Any]]) -> SessionReview:
    """Return the review of a captured session whose requests offered these tools."""
    messages: list[dict[str, Any]] = []
    exchanges = []
    for number, tools in enumerate(offered, 1):
        messages = [*messages, user(f"Question {number}")]
        answer = response(number, f"Answer {number}")
        exchanges.append(tap_line(number, messages, answer, tools=tools))
        messages = [*messages, {"role": "assistant", "content": answer["content"]}]
    store, report = import_file(write_lines(folder / "capture.jsonl", *exchanges))
    return review_of(store, report.sessions[0].id)


def view_of(review: SessionReview) -> TimelineView:
    view = ViewAnswers(review).answer(AskView()).view
    assert view is not None
    return view


def assert_shares_are_whole(view: TimelineView) -> None:
    """Assert that the definitions of each item share all of its tokens."""
    for item in dict.fromkeys(view.definitions.item):
        shares = [
            tokens
            for holder, tokens in zip(view.definitions.item, view.definitions.tokens, strict=True)
            if holder == item
        ]
        assert sum(shares) == view.items.tokens[item]


async def test_each_tool_of_a_session_of_ours_is_told_and_they_share_the_tokens_of_all(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Well.")))
    session = await harness.session()
    await ask(session, "Hello")
    await session.journal.flush()

    review = review_of(harness.store, session.id)

    view, shown = view_of(review), review.request(1)
    sent = [spec["name"] for spec in shown.tools]
    assert [*view.definitions.name] == sent
    assert len(sent) > 3
    assert_shares_are_whole(view)
    blocks = [block for block in shown.blocks if block.kind == "tools"]
    assert [block.name for block in blocks] == sent
    assert {block.item for block in blocks} == set(view.definitions.item)
    assert shown.basis == "exact"
    whole = review.timeline.weights(review.ruler.estimator)[view.definitions.item[0]]
    assert sum(block.tokens for block in blocks) == pytest.approx(whole * review.ruler.factor)


def test_captured_tools_are_told_with_what_changed(tmp_path: Path) -> None:
    first = [tool("read"), tool("edit"), tool("glob")]
    second = [tool("read"), tool("edit", "Edits, better now."), tool("query")]

    review = captured(tmp_path, first, first, second)

    view = view_of(review)
    names = zip(view.definitions.name, view.definitions.change, strict=True)
    assert [*names] == [
        ("read", ""),
        ("edit", ""),
        ("glob", ""),
        ("read", ""),
        ("edit", "changed"),
        ("query", "new"),
    ]
    assert len(set(view.definitions.item)) == 2
    assert_shares_are_whole(view)
    shown = review.request(3)
    assert [block.name for block in shown.blocks if block.kind == "tools"] == [
        "read",
        "edit",
        "query",
    ]
    assert [dict(given) for given in shown.tools] == second
    assert sum(block.tokens for block in (*shown.blocks, *shown.outside_blocks)) == pytest.approx(
        shown.tokens
    )


def test_the_text_of_one_definition_can_be_asked_for(tmp_path: Path) -> None:
    answers = ViewAnswers(captured(tmp_path, [tool("read"), tool("edit")]))
    view = view_of(answers.review)

    answer = answers.answer(AskItem(item=view.definitions.item[0], definition=1, request=0))
    beyond = answers.answer(AskItem(item=view.definitions.item[0], definition=2, request=0))

    assert answer.item is not None
    assert json.loads(answer.item.text) == tool("edit")
    assert beyond.item is None
    assert beyond.error


def test_a_recording_that_knows_no_definitions_has_none() -> None:
    assert view_of(pi_review()).definitions.item == ()


def test_tools_beside_a_recording_are_blocks_one_by_one(tmp_path: Path) -> None:
    review = imported_review("inspect_plain.eval", tmp_path)

    blocks = [block for block in review.request(1).blocks if block.kind == "tools"]

    assert [block.name for block in blocks] == [spec["name"] for spec in review.request(1).tools]
    assert all(block.tokens > 0 for block in blocks)


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ([{"type": "function", "function": {"name": "read", "description": "R"}}], ["read"]),
        ([{"type": "function", "name": "read"}, {"type": "web_search"}], ["read", "web_search"]),
        ([{"type": "mcp", "server_label": "db"}], ["db"]),
        ([{"type": "web_search_20250305", "name": "web_search"}], ["web_search"]),
        (
            [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}],
            ["a", "b", "googleSearch"],
        ),
        ([{"name": "x\u202ey" + "z" * 200}], ["x\\u202ey" + "z" * 72]),
        ([{}], [""]),
        (["read"], []),
        ({"name": "read"}, []),
    ],
)
def test_names_are_found_in_each_providers_form(tools: Any, names: list[str]) -> None:
    assert [definition.name for definition in tool_definitions(json.dumps(tools))] == names


def test_a_text_that_is_no_list_is_left_whole() -> None:
    assert tool_definitions("[{") == tool_definitions("") == ()


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**5), min_size=1, max_size=80))
def test_shares_add_up_and_none_is_negative(tokens: int, lengths: list[int]) -> None:
    shares = shared_by_length(tokens, lengths)

    assert sum(shares) == tokens
    assert len(shares) == len(lengths)
    assert min(shares) >= 0
