"""The engine's truncation of outputs when their tool has ended, over a timeline's items."""

from collections.abc import Callable

from palimpsest.context.reduction.truncation import (
    RULE,
    apply_truncation,
    max_output_tokens,
    output_caps,
    truncate,
)
from palimpsest.context_policies.engine_presets.engine_step import EngineStep

UTF8_BYTES = 4
"""Maximum bytes of a character."""


def truncate_new_outputs(step: EngineStep) -> int:
    """Shorten the outputs that arrived since the previous request, and return the number of all outputs."""
    facts = step.facts()
    policy = step.policy.truncate
    max_lines, max_bytes = output_caps(policy, facts)
    max_tokens = max_output_tokens(policy, facts)
    max_bytes = max_bytes if max_tokens is None else min(max_bytes, max_tokens)
    # Tokens are not counted here; an item's size is counted where it is shown.
    count: Callable[[str], int] = (lambda _text: 0) if max_tokens is None else step.sizes.count
    outputs = step.outputs
    for item in outputs[step.state.considered_outputs :]:
        chars = step.view.item(item).chars
        if chars < max_lines and chars * UTF8_BYTES <= max_bytes:
            continue
        if step.view.item(item).kind != "output" or step.shown_view.state(item) != "whole":
            continue
        text = step.view.read(item)
        name = step.sizes.part_ids[item]
        decision = truncate("", name, step.view.item(item).message, text, policy, facts, count)
        if decision is not None:
            numbers = decision.numbers | {"rule": RULE}
            step.reduce(item, "truncated", apply_truncation(text, decision.numbers), numbers)
    return len(outputs)
