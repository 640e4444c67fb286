"""Messages are adapted to a model before they are written, under the presets that do so."""

from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.model.wire.provider_messages import to_provider
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    CallBlock,
    MediaBlock,
    NeutralMessage,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import TransformPolicy
from palimpsest.transcript.values import ModelInfo, ModelRef

RULE = preset_policy("opencode-1.18").transform
PICTURE = MediaBlock(mime="image/png", url="data:image/png;base64,iVBORw0KGgo=", filename="a.png")


def model(provider: str, name: str, *, vision: bool = True) -> ModelInfo:
    ref = ModelRef(provider=provider, name=name)
    return ModelInfo(ref=ref, window=100_000, output_limit=8_000, vision=vision)


CLAUDE = model("anthropic", "claude-test")
MISTRAL = model("mistral", "mistral-large")
DEEPSEEK = model("deepseek", "deepseek-chat")


def user(*blocks: Block) -> NeutralMessage:
    return NeutralMessage(role="user", blocks=blocks)


def answer(*blocks: Block) -> NeutralMessage:
    return NeutralMessage(role="assistant", blocks=blocks)


def test_the_default_policy_leaves_it_to_the_writer() -> None:
    messages = (user(TextBlock(text=""), PICTURE),)

    assert transform(messages, model("x", "y", vision=False), TransformPolicy()) is messages


def test_a_file_that_the_model_cannot_take_becomes_words() -> None:
    sound = MediaBlock(mime="audio/wav", url="data:audio/wav;base64,UklGRg==")
    table = MediaBlock(mime="text/csv", url="data:text/csv;base64,YSxi")

    blocks = transform((user(PICTURE, sound, table),), model("x", "y", vision=False), RULE)[
        0
    ].blocks

    assert [block.type for block in blocks] == ["text", "text", "media"]
    assert isinstance(blocks[0], TextBlock)
    assert '"a.png"' in blocks[0].text
    assert isinstance(blocks[1], TextBlock)
    assert "audio" in blocks[1].text


def test_an_empty_image_becomes_words_even_where_images_are_taken() -> None:
    empty = MediaBlock(mime="image/png", url="data:image/png;base64,")

    blocks = transform((user(empty, PICTURE),), CLAUDE, RULE)[0].blocks

    assert [block.type for block in blocks] == ["text", "media"]


def test_lone_surrogates_are_replaced_and_pairs_kept() -> None:
    result = ResultBlock(call_id="c", tool="t", text="a\ud83d b 😀")

    cleaned = transform((NeutralMessage(role="tool", blocks=(result,)),), CLAUDE, RULE)[0].blocks[0]

    assert isinstance(cleaned, ResultBlock)
    assert cleaned.text == "a\ufffd b 😀"


def test_claude_is_spared_empty_texts_and_unsigned_empty_thoughts() -> None:
    signed = ReasoningBlock(text="", metadata={"thinking_blocks": [{"signature": "s"}]})
    redacted = ReasoningBlock(
        text="", metadata={"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}
    )
    unsigned = ReasoningBlock(text="", metadata={"family": "anthropic"})
    messages = (answer(TextBlock(text=""), signed, unsigned, redacted), user(TextBlock(text="")))

    assert transform(messages, CLAUDE, RULE) == (answer(signed, redacted),)
    assert transform(messages, model("openai", "gpt"), RULE) == messages


def test_call_ids_are_written_as_the_provider_wants_them() -> None:
    messages = (
        answer(CallBlock(call_id="call.1|fc_2", tool="t", input={})),
        NeutralMessage(
            role="tool", blocks=(ResultBlock(call_id="call.1|fc_2", tool="t", text="x"),)
        ),
    )

    def ids(target: ModelInfo) -> list[str]:
        blocks = [
            block for message in transform(messages, target, RULE) for block in message.blocks
        ]
        return [block.call_id for block in blocks if isinstance(block, CallBlock | ResultBlock)]

    assert ids(CLAUDE) == ["call_1_fc_2"] * 2
    assert ids(MISTRAL) == ["call1fc20"] * 2
    assert ids(model("openai", "gpt")) == ["call.1|fc_2"] * 2


def test_mistral_has_an_answer_between_a_result_and_the_user() -> None:
    result = NeutralMessage(role="tool", blocks=(ResultBlock(call_id="c", tool="t", text="x"),))
    messages = (result, user(TextBlock(text="go on")))

    roles = [message.role for message in transform(messages, MISTRAL, RULE)]

    assert roles == ["tool", "assistant", "user"]


def test_thinking_goes_into_a_field_of_every_answer_even_if_empty() -> None:
    messages = (
        answer(ReasoningBlock(text="Hm. "), TextBlock(text="Yes."), ReasoningBlock(text="So.")),
        answer(TextBlock(text="No.")),
    )

    written = to_provider(transform(messages, DEEPSEEK, RULE), DEEPSEEK)

    assert [message["reasoning_content"] for message in written] == ["Hm. So.", ""]
    assert [message["content"] for message in written] == ["Yes.", "No."]


def test_fitting_twice_changes_nothing_more() -> None:
    messages = (
        user(PICTURE, TextBlock(text="")),
        answer(CallBlock(call_id="a/b", tool="t", input={})),
        NeutralMessage(role="tool", blocks=(ResultBlock(call_id="a/b", tool="t", text="x"),)),
        user(TextBlock(text="go on")),
    )

    for target in (CLAUDE, MISTRAL, DEEPSEEK):
        once = transform(messages, target, RULE)
        assert transform(once, target, RULE) == once
