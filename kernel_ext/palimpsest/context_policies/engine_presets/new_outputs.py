"""Truncate a timeline's new outputs before a request, as the engine does at the end of each tool call."""

from collections.abc import Callable

from palimpsest.context.reduction.truncation import (
    TRUNCATE_RULE,
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
    # No text has more tokens than bytes, so one within this many bytes needs no count.
    sure_bytes = max_bytes if max_tokens is None else min(max_bytes, max_tokens)
    # Without a limit in tokens, the decision does not depend on a count, and its token numbers are not used here.
    count: Callable[[str], int] = (lambda _text: 0) if max_tokens is None else step.sizes.count
    outputs = step.outputs
    for item in outputs[step.state.considered_outputs :]:
        chars = step.view.item(item).chars
        if chars < max_lines and chars * UTF8_BYTES <= sure_bytes:
            continue
        if step.view.item(item).kind != "output" or step.shown_view.state(item) != "whole":
            continue
        text = step.view.read(item)
        part_id = step.sizes.part_ids[item]
        decision = truncate("", part_id, step.view.item(item).message, text, policy, facts, count)
        if decision is not None:
            numbers = decision.numbers | {"rule": TRUNCATE_RULE}
            step.reduce(item, "truncated", apply_truncation(text, decision.numbers), numbers)
    return len(outputs)
