"""Draw the gauge of the context window as SVG.

Border: pure; numbers in, markup out. Colours are names of CSS variables, so that the page which
holds a drawing decides about light and dark; the title repeats as text what the colours show.
"""

import html

from palimpsest.render.content.phrases import count, share_text

WIDTH, HEIGHT = 176, 6


def gauge(used: int, window: int) -> str:
    """Return the window as one bar, filled by the tokens that are used."""
    window, used = max(window, 1), max(used, 0)
    used_text = f": used {count(used)}" if used else ""
    label = html.escape(f"{share_text(used, window)} tokens used{used_text}")
    filled = _bar(used * WIDTH / max(window, used), "used") if used else ""
    return (
        f'<svg class="gauge" role="img" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{label}"><title>{label}</title>'
        f"{_bar(WIDTH, 'free')}{filled}</svg>"
    )


def _bar(length: float, kind: str) -> str:
    return f'<rect x="0.00" y="0" width="{length:.2f}" height="{HEIGHT}" fill="var(--{kind})"/>'
