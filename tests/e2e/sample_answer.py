"""Generate an answer like those of real models: prose, maths, tables, a long listing, one huge block."""

from random import Random

WORDS = (
    "the",
    "mean",
    "of",
    "every",
    "column",
    "is",
    "taken",
    "over",
    "all",
    "rows",
    "with",
    "values",
    "and",
    "compared",
)


def answer(tokens: float, *, seed: int = 1, huge: bool = True) -> str:
    """Return Markdown of about this many tokens, with one huge paragraph unless told otherwise."""
    dice = Random(seed)
    text: list[str] = []
    length = 0
    kinds = ("words", "words", "list", "table", "maths", "code", "words")
    while length < tokens * 3.5:
        block = _block(dice, kinds[len(text) % len(kinds)], len(text), huge=huge)
        text.append(block)
        length += len(block)
    return "\n\n".join(text)


def _block(dice: Random, kind: str, number: int, *, huge: bool) -> str:
    if kind == "list":
        return "\n".join(f"- {_words(dice, 9)}" for _ in range(6))
    if kind == "table":
        rows = [f"| {_words(dice, 2)} | {dice.random():.3f} |" for _ in range(8)]
        return "\n".join(["| name | value |", "|---|---|", *rows])
    if kind == "maths":
        return f"$$\n\\bar x_{{{number}}} = \\frac{{1}}{{n}} \\sum_i x_i^{{{number}}}\n$$"
    if kind == "code":
        lines = 200 if number < len(WORDS) else 12
        return (
            "```python\n"
            + "\n".join(f"total_{n} = sum(row[{n}] for row in rows)" for n in range(lines))
            + "\n```"
        )
    return _words(dice, 60) if number != 1 or not huge else _words(dice, 4_000)


def _words(dice: Random, count: int) -> str:
    """Return words, one in thirteen a formula."""
    return " ".join("$x^2$" if dice.random() < 1 / 13 else dice.choice(WORDS) for _ in range(count))
