"""A provider's own blocks go back whole and unchanged, whatever is cut out of a history around them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.adapter.provider_blocks import (
    BLOCK_MARK,
    restored_body,
    translatable_messages,
)
from palimpsest.model.wire.native_blocks import NATIVE_ITEM
from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

CLAUDE = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-sonnet-4-5"), window=1, output_limit=1
)
GPT = ModelInfo(ref=ModelRef(provider="openai", name="gpt-5.1"), window=1, output_limit=1)


def native(*blocks: dict[str, Any], text: str = "told", dialect: str = "anthropic") -> TextBlock:
    return TextBlock(text=text, part_id="p", metadata={"dialect": dialect, "native": list(blocks)})


def use(number: int) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "s", "input": {}}


def result(number: int) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": []}


def said(*blocks: Any) -> NeutralMessage:
    return NeutralMessage(role="assistant", blocks=blocks)


ASKED = NeutralMessage(role="user", blocks=(TextBlock(text="Go."),))
ONCE: NeutralMessages = (
    ASKED,
    said(TextBlock(text="I search."), native(use(1), result(1))),
    ASKED,
    said(native(use(2)), CallBlock(call_id="c", tool="read", input={})),
    NeutralMessage(role="tool", blocks=(ResultBlock(call_id="c", tool="read", text="x"),)),
    said(native(result(2)), TextBlock(text="Done.")),
    ASKED,
    said(native(use(3)), TextBlock(text="Cut off.")),
    ASKED,
)


def sent(messages: NeutralMessages, model: ModelInfo = CLAUDE) -> list[dict[str, Any]]:
    return [
        item["block"]
        for body in to_provider(messages, model)
        for item in (body["content"] if isinstance(body.get("content"), list) else ())
        if item["type"] == NATIVE_ITEM
    ]


def test_pairs_go_back_and_what_lost_its_half_is_told_as_text() -> None:
    assert sent(ONCE) == [use(1), result(1), use(2), result(2)]
    assert to_provider(ONCE, CLAUDE)[-2]["content"] == "told\n\nCut off."


def test_a_call_that_waits_for_ours_goes_back_without_its_result() -> None:
    assert sent(ONCE[:5])[-1] == use(2)
    assert sent((*ONCE[:5], ASKED)) == [use(1), result(1)]


def test_another_wire_gets_text_only() -> None:
    assert sent(ONCE, GPT) == []
    assert "told" in json.dumps(to_provider(ONCE, GPT))


@given(st.sets(st.integers(0, len(ONCE) - 1)))
def test_no_cut_tears_a_pair(left_out: set[int]) -> None:
    """Whatever messages are left out, each result that is sent follows its call, and each call but a waiting one has its result."""
    kept = tuple(block for at, block in enumerate(ONCE) if at not in left_out)
    blocks = sent(kept)
    called = [block["id"] for block in blocks if "id" in block]
    answered = [block["tool_use_id"] for block in blocks if "tool_use_id" in block]
    assert set(answered) <= set(called)
    waits = {"srvtoolu_2", "srvtoolu_3"} if kept and kept[-1].role != "user" else set()
    assert set(called) - set(answered) <= waits


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_a_block_passes_litellm_unchanged(block: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": [{"type": NATIVE_ITEM, "block": block}]}
    (carried,) = translatable_messages([message], restores_blocks=True)

    assert restored_body({"messages": [carried]})["messages"][0]["content"] == [block]


@pytest.mark.parametrize(
    "text",
    ["provider block 0: {}", BLOCK_MARK[:-4] + "{}", "provider block "],
    # The mark is another in each process, and tests are told apart by their names.
    ids=["guessed", "cut mark", "beginning"],
)
def test_nobody_can_write_a_block_as_text(text: str) -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}

    assert restored_body(json.loads(json.dumps(body))) == body


def test_where_litellm_is_not_ours_it_sends_what_it_passes_on() -> None:
    cited = {"type": "text", "text": "Three.", "citations": [{"url": "x"}]}
    mcp = {"type": "mcp_tool_use", "id": "m"}, {"type": "mcp_tool_result", "tool_use_id": "m"}
    items = [{"type": NATIVE_ITEM, "block": block} for block in (use(1), result(1), cited, *mcp)]
    (message,) = translatable_messages(
        [{"role": "assistant", "content": items}], restores_blocks=False
    )

    assert message["content"] == [use(1), result(1), {"type": "text", "text": "Three."}]


def test_thinking_stands_where_it_came() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    reasoned = ReasoningBlock(
        text="Hm.", metadata={"thinking_blocks": [thought], "family": "anthropic"}
    )
    messages = (ASKED, said(TextBlock(text="I."), native(use(1), result(1)), reasoned), ASKED)

    assert sent(messages) == [use(1), result(1), thought]
    assert "thinking_blocks" not in to_provider(messages, CLAUDE)[1]
