"""Neutral messages are written in each provider's format, deterministically."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.wire.provider_messages import (
    can_think,
    canonical_json,
    message_hash,
    prompt_text,
    provider_messages,
    request_hash,
    sendable_messages,
    to_provider,
    with_marks,
    without_marks,
)
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

PNG = "data:image/png;base64,iVBORw0KGgo="
PICTURE = MediaBlock(mime="image/png", url=PNG, filename="plot.png", part_id="p5")


def model(provider: str, name: str = "some-model", **fields: Any) -> ModelInfo:
    defaults: dict[str, Any] = {"window": 8_000, "output_limit": 1_000, "vision": True}
    return ModelInfo(ref=ModelRef(provider=provider, name=name), **(defaults | fields))


OPENAI, ANTHROPIC, GEMINI, MISTRAL, DEEPSEEK = (
    model(provider) for provider in ("openai", "anthropic", "gemini", "mistral", "deepseek")
)


def say(role: Any, *blocks: Block | str, message_id: str = "m1") -> NeutralMessage:
    made = tuple(TextBlock(text=b, part_id="p1") if isinstance(b, str) else b for b in blocks)
    return NeutralMessage(role=role, blocks=made, message_id=message_id)


def call(identifier: str = "call_1", **arguments: Any) -> CallBlock:
    return CallBlock(call_id=identifier, tool="python", input=arguments, part_id="p3")


def result(text: str = "4", identifier: str = "call_1", **fields: Any) -> ResultBlock:
    return ResultBlock(call_id=identifier, tool="python", text=text, part_id="p3", **fields)


TALK = (
    say("system", "Be brief."),
    say("user", "2 + 2?", message_id="m2"),
    say("assistant", "Let me see.", call(code="2+2"), message_id="m3"),
    say("tool", result(), message_id="m3"),
    say("assistant", "4", message_id="m4"),
)


def test_writes_openai_messages_with_their_sources() -> None:
    written = provider_messages(TALK, OPENAI)

    function = {"name": "python", "arguments": '{"code": "2+2"}'}
    assert [message.body for message in written] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 2?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "4"},
        {"role": "assistant", "content": "4"},
    ]
    assert [(m.message_id, m.part_ids) for m in written] == [
        ("m1", ("p1",)),
        ("m2", ("p1",)),
        ("m3", ("p1", "p3")),
        ("m3", ("p3",)),
        ("m4", ("p1",)),
    ]


def test_leading_system_messages_become_one_but_for_anthropic() -> None:
    head = (say("system", "One."), say("system", "Two."), say("user", "Hi"))

    assert to_provider(head, OPENAI)[0] == {"role": "system", "content": "One.\n\nTwo."}
    assert [m["content"] for m in to_provider(head, ANTHROPIC)] == ["One.", "Two.", "Hi"]


def test_sends_no_empty_message() -> None:
    empty = (
        say("system", " "),
        say("user", ""),
        say("assistant", "  \n"),
        say("assistant", ReasoningBlock(text="Hm.")),
        say("user"),
    )

    assert to_provider(empty, OPENAI) == to_provider(empty, ANTHROPIC) == ()


def test_an_image_goes_where_it_can_be_seen() -> None:
    (seen,) = to_provider((say("user", "Look:", PICTURE),), OPENAI)
    (blind,) = to_provider((say("user", "Look:", PICTURE),), model("openai", vision=False))

    assert seen["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": PNG}},
    ]
    assert "plot.png (image/png) was left out" in blind["content"]


def test_a_remote_or_empty_image_is_not_fetched() -> None:
    remote = MediaBlock(mime="image/png", url="https://example.org/a.png")
    empty = MediaBlock(mime="image/png", url="data:image/png;base64,")

    (written,) = to_provider((say("user", remote, empty),), OPENAI)

    assert written["content"].count("was empty or could not be sent") == 2


def test_an_image_of_a_result_stays_in_it_for_anthropic_only() -> None:
    talk = (
        say("user", "Plot."),
        say("assistant", call("call_1"), call("call_2")),
        say("tool", result(media=(PICTURE,))),
        say("tool", result("5", "call_2")),
        say("assistant", "Done."),
    )

    inside = to_provider(talk, ANTHROPIC)
    apart = to_provider(talk, OPENAI)

    assert inside[2]["content"][1]["type"] == "image_url"
    assert [m["role"] for m in inside] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m["role"] for m in apart] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert apart[4]["content"][0]["text"] == "Attached media from tool result:"


def test_thinking_travels_to_its_own_family_only() -> None:
    signed = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    unsigned = {"type": "thinking", "thinking": "Hm."}
    metadata = {"thinking_blocks": [signed, unsigned], "family": "anthropic"}
    talk = (say("assistant", ReasoningBlock(text="Hm.", metadata=metadata), "Hi."),)

    assert to_provider(talk, ANTHROPIC)[0]["thinking_blocks"] == [signed]
    assert to_provider(talk, DEEPSEEK)[0]["reasoning_content"] == "Hm."
    for other in (OPENAI, GEMINI, MISTRAL):
        assert to_provider(talk, other) == ({"role": "assistant", "content": "Hi."},)


def test_mistral_gets_short_ids_and_a_word_between_tool_and_user() -> None:
    long, alike = "call_abcdefghij_1", "call_abcdefghij_2"
    talk = (
        say("assistant", call(long), call(alike), call("7")),
        say("tool", result("1", long), result("2", alike), result("3", "7")),
        say("user", "And?"),
    )

    written = to_provider(talk, MISTRAL)

    ids = [made["id"] for made in written[0]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in written[1:4]]
    assert ids[0] == "callabcde"
    assert ids[2] == "700000000"
    assert len(set(ids)) == 3
    assert all(len(made) == 9 and made.isalnum() for made in ids)
    assert [message["role"] for message in written[4:]] == ["assistant", "user"]


def test_claude_gets_ids_of_letters_digits_dash_and_underscore() -> None:
    talk = (
        say("assistant", call("a:b"), call("a.b")),
        say("tool", result("1", "a:b"), result("2", "a.b")),
    )

    for claude in (ANTHROPIC, model("bedrock", "anthropic.claude-x")):
        ids = [made["id"] for made in to_provider(talk, claude)[0]["tool_calls"]]
        assert ids[0] == "a_b"
        assert len(set(ids)) == 2


def test_kilobyte_ids_stay_for_gemini_and_are_shortened_for_openai() -> None:
    long = "call_1__thought__" + "x" * 2_000
    talk = (say("assistant", call(long)), say("tool", result("1", long)))

    kept, shortened = to_provider(talk, GEMINI), to_provider(talk, OPENAI)

    assert kept[0]["tool_calls"][0]["id"] == kept[1]["tool_call_id"] == long
    assert shortened[0]["tool_calls"][0]["id"] == shortened[1]["tool_call_id"]
    assert len(shortened[1]["tool_call_id"]) == 40


def test_an_orphan_result_is_written_too() -> None:
    assert to_provider((say("tool", result()),), OPENAI)[0]["tool_call_id"] == "call_1"


def test_lone_surrogates_are_replaced() -> None:
    assert joined_surrogates("a\ud800b") == "a\ufffdb"
    assert joined_surrogates("\U0001f600 ü") == "\U0001f600 ü"
    to_provider((say("user", "a\ud800b"),), OPENAI)[0]["content"].encode()


@pytest.mark.parametrize("target", [OPENAI, ANTHROPIC, GEMINI, MISTRAL])
def test_marks_change_no_hash(target: ModelInfo) -> None:
    messages = (*to_provider(TALK, target), *to_provider((say("user", "Look", PICTURE),), target))
    before = tuple(messages)

    marked = with_marks(messages, range(len(messages)))

    assert all("cache_control" in repr(message) for message in marked)
    assert list(map(message_hash, marked)) == list(map(message_hash, messages))
    assert tuple(map(without_marks, marked)) == messages == before


def test_marks_stand_only_where_asked() -> None:
    marked = with_marks(to_provider(TALK, ANTHROPIC), (0, 3))

    assert [("cache_control" in message) for message in marked] == [True, False, False, True, False]


def test_hashes_depend_on_everything_that_is_sent() -> None:
    one, two = to_provider((say("user", "a"),), OPENAI), to_provider((say("user", "b"),), OPENAI)

    assert message_hash(one[0]) != message_hash(two[0])
    assert request_hash(["x", "y"]) != request_hash(["y", "x"]) != request_hash(["xy"])
    assert message_hash({"content": "ü", "role": "user"}) == message_hash(
        {"role": "user", "content": "ü"}
    )


def test_strict_servers_get_only_what_they_know() -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}],
        "reasoning_content": "Hm.",
        "thinking_blocks": [],
    }

    assert sendable_messages((message,), OPENAI) == (
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
    )
    assert "thinking_blocks" in sendable_messages((message,), ANTHROPIC)[0]
    assert "reasoning_content" in sendable_messages((message,), DEEPSEEK)[0]


def test_the_prompt_text_holds_all_that_is_read() -> None:
    spec = ToolSpec(name="grep", description="Search.", parameters={"type": "object"})

    text = prompt_text(to_provider(TALK, OPENAI), (spec,))

    for word in ("Be brief.", "2 + 2?", '{"code": "2+2"}', "Search.", "object"):
        assert word in text


texts = st.text(max_size=20)
ids = st.sampled_from(["call_1", "a:b", "a_b", "call_1__thought__" + "y" * 60, "q"])
blocks = st.one_of(
    texts.map(lambda text: TextBlock(text=text)),
    st.builds(CallBlock, call_id=ids, tool=st.just("t"), input=st.dictionaries(texts, texts)),
    st.builds(ResultBlock, call_id=ids, tool=st.just("t"), text=texts),
    st.just(PICTURE),
    st.builds(ReasoningBlock, text=texts),
)
messages = st.builds(
    NeutralMessage,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    blocks=st.lists(blocks, max_size=4).map(tuple),
)


@pytest.mark.slow
@given(st.lists(messages, max_size=8).map(tuple), st.sampled_from([OPENAI, ANTHROPIC, MISTRAL]))
def test_any_talk_is_written_twice_alike_and_never_empty(
    talk: tuple[NeutralMessage, ...], target: ModelInfo
) -> None:
    """The written messages depend only on the input, and none of them is empty."""
    written = to_provider(talk, target)

    assert written == to_provider(talk, target)
    for message in written:
        assert message["role"] == "tool" or message.get("content") or message.get("tool_calls")
        message_hash(message)
    calls = {b.call_id for m in talk for b in m.blocks if isinstance(b, CallBlock | ResultBlock)}
    seen = {m["tool_call_id"] for m in written if m["role"] == "tool"} | {
        made["id"] for m in written for made in m.get("tool_calls", ())
    }
    assert len(seen) <= len(calls)


def test_thinking_may_not_begin_while_calls_without_it_are_answered() -> None:
    asked, done = {"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}
    plain_call = {"role": "assistant", "tool_calls": [{}]}
    thought_call = {**plain_call, "thinking_blocks": [{}]}
    answer = {"role": "tool", "content": "x"}

    for begun in ([], [asked], [asked, thought_call, answer], [plain_call, answer, done, asked]):
        assert can_think(begun, ANTHROPIC)
    assert can_think([asked, thought_call, answer, plain_call, answer], ANTHROPIC)
    for begun in ([asked, plain_call, answer], [asked, plain_call, answer, thought_call, answer]):
        assert not can_think(begun, ANTHROPIC)
        assert not can_think([*begun, asked], ANTHROPIC)
        assert can_think(begun, OPENAI)


def test_somebody_speaks_beside_the_system() -> None:
    told = (NeutralMessage(role="system", blocks=(TextBlock(text="Be kind."),)),)

    for target in (OPENAI, ANTHROPIC, GEMINI, MISTRAL):
        assert [message["role"] for message in to_provider(told, target)] == ["system", "user"]
        assert to_provider((), target) == ()


def test_thinking_that_no_json_can_carry_stays_behind() -> None:
    def thought(text: str) -> Block:
        signed = {"type": "thinking", "thinking": text, "signature": "s"}
        return ReasoningBlock(text=text, metadata={"thinking_blocks": [signed]})

    blocks = (thought("half \ud83d"), thought("whole"), TextBlock(text="x"))
    (written,) = to_provider((NeutralMessage(role="assistant", blocks=blocks),), ANTHROPIC)

    assert [block["thinking"] for block in written["thinking_blocks"]] == ["whole"]


TEXT = st.text(max_size=5)
CALL = st.fixed_dictionaries(
    {
        "id": TEXT | st.none(),
        "type": TEXT,
        "function": st.fixed_dictionaries(
            {"name": TEXT, "arguments": TEXT | st.integers()}, optional={"more": TEXT}
        )
        | st.none(),
    },
    optional={"index": st.integers()},
)
BODY = st.fixed_dictionaries(
    {"role": TEXT, "content": TEXT | st.none() | st.lists(TEXT, max_size=2)},
    optional={
        "tool_calls": st.none() | st.lists(CALL, max_size=2),
        "name": TEXT,
        "tool_call_id": TEXT | st.none(),
    },
)


@given(BODY)
def test_the_short_ways_to_write_a_message_lead_to_the_same_json(body: dict[str, object]) -> None:
    plain = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    assert canonical_json(body) == joined_surrogates(plain).encode()
