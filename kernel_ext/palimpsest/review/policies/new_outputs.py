"""What the engine's truncation does with outputs when their tool has ended, over a timeline's items."""

from palimpsest.context.reduction.truncation import RULE, caps, most_tokens, shorten, truncate
from palimpsest.review.policies.engine_step import EngineStep

UTF8_BYTES = 4
"""Bytes that a character takes at most."""


def truncate_new_outputs(step: EngineStep) -> int:
    """Shorten the outputs that came since the request before, and return how many there are now."""
    facts = step.facts()
    policy = step.policy.truncate
    lines, size = caps(policy, facts)
    most = most_tokens(policy, facts)
    size = size if most is None else min(size, most)
    # Where no tokens are asked for, what an item takes is counted where it is shown.
    count = _no_count if most is None else step.sizes.count
    outputs = step.outputs
    for item in outputs[step.state.seen :]:
        chars = step.view.item(item).chars
        if chars < lines and chars * UTF8_BYTES <= size:
            continue
        if step.view.item(item).kind != "output" or step.seen.state(item) != "whole":
            continue
        text = step.view.read(item)
        name = step.sizes.parts[item]
        made = truncate("", name, step.view.item(item).message, text, policy, facts, count)
        if made is not None:
            numbers = made.numbers | {"rule": RULE}
            step.reduce(item, "truncated", shorten(text, made.numbers), numbers)
    return len(outputs)


def _no_count(_text: str) -> int:
    return 0
