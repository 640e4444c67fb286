"""Provider messages are adapted to a model, and marked for its cache, as in the recorded OpenCode.

Two details belong to the SDK: a cache mark is on a message or on its last block, by package, so only the
marked messages are compared; and reasoning in a field beside the text is an option of the message there, a
block of the message here.
"""

from typing import Any

from tests.golden.data import load
from tests.golden.modelmessages import anonymous, flat_of, model_of

from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import cache_mark_positions
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages, ReasoningBlock

MARKS = {"cacheControl", "cachePoint", "cache_control", "copilot_cache_control"}
THINKING = "reasoning_content"

Recorded = dict[str, Any]


def unmarked(value: Any) -> Any:
    """Return a recorded value without its cache marks."""
    if isinstance(value, list):
        return [unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {name: unmarked(one) for name, one in value.items() if name not in MARKS}
    if "providerOptions" in plain:
        options = {name: one for name, one in plain.pop("providerOptions").items() if one}
        plain |= {"providerOptions": options} if options else {}
    return plain


def is_marked(message: Recorded) -> bool:
    return unmarked(message) != message


def theirs_of(recorded: list[Recorded]) -> NeutralMessages:
    """Return the recorded messages as ours, with the reasoning field as a block."""
    plain = unmarked(recorded)
    found = []
    for message, flat in zip(plain, flat_of(plain), strict=True):
        fields = (message.get("providerOptions") or {}).get("openaiCompatible") or {}
        blocks = flat.blocks
        if THINKING in fields:
            thought = ReasoningBlock(text=fields[THINKING], metadata={"field": THINKING})
            blocks = (thought, *blocks)
        found.append(flat.model_copy(update={"blocks": blocks}))
    return tuple(found)


def test_every_recorded_request_is_made_to_fit_its_model() -> None:
    models = load("opencode", "to_model_messages")["models"]
    rule = preset_policy("opencode-1.18").transform
    cases = load("opencode", "provider_transform")["cases"]

    for case in cases:
        model = model_of(models[case["model"]])
        ours = anonymous(transform(flat_of(case["input"]), model, rule))
        assert ours == theirs_of(case["output"]), (case["session"], case["model"])
    assert cases


def test_every_recorded_request_is_marked_for_the_cache() -> None:
    models = load("opencode", "to_model_messages")["models"]
    rule = preset_policy("opencode-1.18").transform

    for case in load("opencode", "provider_transform")["cases"]:
        model = model_of(models[case["model"]])
        flat = transform(flat_of(case["input"]), model, rule)
        theirs = [at for at, message in enumerate(case["output"]) if is_marked(message)]
        ours = sorted(cache_mark_positions([message.role for message in flat], model))
        assert ours == theirs, (case["session"], case["model"])
