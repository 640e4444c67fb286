"""Draw the gauge of the context window as SVG.

Border: pure; numbers in, markup out. Colours are names of CSS variables, so that the page which
holds a drawing decides about light and dark; the title repeats as text what the colours show.
"""

import html

from palimpsest.render.content.phrases import count, share_text

WIDTH, HEIGHT = 176, 6


def gauge(used_tokens: int, window: int) -> str:
    """Return the window as one bar, filled by the tokens that are used."""
    window, used_tokens = max(window, 1), max(used_tokens, 0)
    used_text = f": used {count(used_tokens)}" if used_tokens else ""
    label = html.escape(f"{share_text(used_tokens, window)} tokens used{used_text}")
    filled_bar = _bar(used_tokens * WIDTH / max(window, used_tokens), "used") if used_tokens else ""
    return (
        f'<svg class="gauge" role="img" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{label}"><title>{label}</title>'
        f"{_bar(WIDTH, 'free')}{filled_bar}</svg>"
    )


def _bar(length: float, kind: str) -> str:
    return f'<rect x="0.00" y="0" width="{length:.2f}" height="{HEIGHT}" fill="var(--{kind})"/>'
