"""Draw the gauge of the context window as SVG.

Border: pure; numbers in, markup out. Colours are names of CSS variables, so that the page which
holds a drawing decides about light and dark; the title repeats as text what the colours show.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.render.content.phrases import count, share_text

KINDS = (
    "system",
    "tools",
    "instructions",
    "summary",
    "user",
    "notebook",
    "assistant",
    "reasoning",
    "output",
    "used",
)
"""The kinds of tokens in the window, always in this order; ``used`` is for tokens of no known kind."""


@dataclass(frozen=True, slots=True)
class TokenShare:
    """Some tokens of one kind."""

    kind: str
    tokens: int


def gauge(
    shares: Sequence[TokenShare],
    window: int,
    *,
    reserve: int = 0,
    width: int = 176,
    height: int = 6,
) -> str:
    """Return the window as one stacked bar, with the reserve for the answer at its end."""
    window = max(window, 1)
    order = {kind: place for place, kind in enumerate(KINDS)}
    known = sorted(
        (share for share in shares if share.kind in order and share.tokens > 0),
        key=lambda share: order[share.kind],
    )
    used = sum(share.tokens for share in known)
    scale = width / max(window, used)
    words = f"{share_text(used, window)} tokens used" + (
        f": {', '.join(f'{share.kind} {count(share.tokens)}' for share in known)}" if known else ""
    )
    bars = [_bar(0, width, height, "free")]
    at = 0.0
    for share in known:
        bars.append(_bar(at, share.tokens * scale, height, share.kind))
        at += share.tokens * scale
    if reserve > 0:
        length = min(reserve * scale, width)
        bars.append(_bar(width - length, length, height, "reserve"))
    label = html.escape(words)
    return (
        f'<svg class="gauge" role="img" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" aria-label="{label}"><title>{label}</title>'
        f"{''.join(bars)}</svg>"
    )


def _bar(at: float, length: float, height: int, kind: str) -> str:
    return (
        f'<rect x="{at:.2f}" y="0" width="{max(length, 0):.2f}" height="{height}"'
        f' fill="var(--{kind})"/>'
    )
