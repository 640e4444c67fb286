"""Facts about the source of a cell: whether it prompts the agent, and a short hash to recognise it by.

Border: pure, and light, since the recorder of cells is loaded with ``%load_ext``.
"""

import hashlib
import re

SEEN_KEY = "seen"
"""Key in the metadata of a call's state: hashes of the sources that its output shows the model, by cell id."""

_PROMPT = re.compile(r"\s*%{1,2}agent\b")


def is_prompt_cell(source: str) -> bool:
    """Return whether a cell prompts the agent, so that its session has the prompt and the answer."""
    return _PROMPT.match(source) is not None


def source_hash(source: str) -> str:
    """Return a hash of a source, equal for sources that differ only in blank space around them."""
    return hashlib.sha256(source.strip().encode("utf-8", "surrogatepass")).hexdigest()[:12]
