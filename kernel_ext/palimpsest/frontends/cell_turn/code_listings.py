"""Find the Python listings in an answer's Markdown.

Border: pure; the page shows buttons for the same listings (``state/text/codeListing.ts``).
"""

import re

_PYTHON = re.compile(r"(?:i?python[23]?|py[23]?)?", re.IGNORECASE)


def python_listings(markdown: str) -> tuple[str, ...]:
    r"""Return the contents of the code fences for Python or without a language, in order, except empty ones.

    >>> python_listings("Try this:\n\n```python\nx = 1\n```\n\n```bash\nls\n```")
    ('x = 1',)
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 - the parser is needed for listings only

    return tuple(
        token.content.rstrip("\n")
        for token in MarkdownIt("commonmark").parse(markdown)
        if token.type == "fence"
        and _PYTHON.fullmatch(token.info.strip().partition(" ")[0])
        and token.content.strip()
    )
