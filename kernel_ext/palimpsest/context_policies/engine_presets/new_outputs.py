"""The engine's truncation of outputs when their tool has ended, over a timeline's items."""

from collections.abc import Callable

from palimpsest.context.reduction.truncation import (
    RULE,
    max_output_tokens,
    output_caps,
    shorten,
    truncate,
)
from palimpsest.context_policies.engine_presets.engine_step import EngineStep

UTF8_BYTES = 4
"""Most bytes of a character."""


def truncate_new_outputs(step: EngineStep) -> int:
    """Shorten the outputs that came since the request before, and return the number of outputs now."""
    facts = step.facts()
    policy = step.policy.truncate
    lines, size = output_caps(policy, facts)
    most = max_output_tokens(policy, facts)
    size = size if most is None else min(size, most)
    # Tokens are not counted here; an item's size is counted where it is shown.
    count: Callable[[str], int] = (lambda _text: 0) if most is None else step.sizes.count
    outputs = step.outputs
    for item in outputs[step.state.seen :]:
        chars = step.view.item(item).chars
        if chars < lines and chars * UTF8_BYTES <= size:
            continue
        if step.view.item(item).kind != "output" or step.seen.state(item) != "whole":
            continue
        text = step.view.read(item)
        name = step.sizes.parts[item]
        decision = truncate("", name, step.view.item(item).message, text, policy, facts, count)
        if decision is not None:
            numbers = decision.numbers | {"rule": RULE}
            step.reduce(item, "truncated", shorten(text, decision.numbers), numbers)
    return len(outputs)
