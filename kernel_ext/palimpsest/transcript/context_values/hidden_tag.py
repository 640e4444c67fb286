"""Recognise the tag in a cell's metadata that hides the cell from the agent.

Border: pure, and loaded with ``%load_ext``, so nothing heavy is imported.
"""

import re
from collections.abc import Mapping
from typing import Any

from palimpsest.transcript.context_values.cell_runs import HIDDEN_TAG

DEPTH = 5
"""Maximum depth to which a cell's metadata is searched for tags."""
_SEPARATOR = re.compile(r"[\s,;]+")


def has_hidden_tag(metadata: Any, depth: int = DEPTH) -> bool:
    """Return whether a cell's metadata has the tag ``agent-hidden``.

    Tags are a list, or one text in which commas, semicolons or spaces separate them.
    """
    if not isinstance(metadata, Mapping) or depth == 0:
        return False
    return any(
        (key == "tags" and names_hidden_tag(value)) or has_hidden_tag(value, depth - 1)
        for key, value in metadata.items()
    )


def names_hidden_tag(tags: Any) -> bool:
    """Return whether tags, as a list or as one text, contain the tag ``agent-hidden``."""
    texts = [tags] if isinstance(tags, str) else tags if isinstance(tags, list | tuple) else ()
    return any(
        isinstance(text, str) and HIDDEN_TAG in _SEPARATOR.split(text.strip().lower())
        for text in texts
    )
