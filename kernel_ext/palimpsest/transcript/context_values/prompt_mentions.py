"""What a prompt may name with an at sign, and what would go along with it, as values.

Border: values alone; ``session/prompts/mention_previews.py`` makes them and the page draws them.
"""

from typing import Literal

from palimpsest.transcript.values import Value

MentionTarget = Literal["error", "variable", "cell", "out", "file"]
"""What a mention names."""
MentionState = Literal[
    "sent", "unknown", "hidden", "denied", "asks", "busy", "uncounted", "unreadable", "beyond"
]


class MentionRow(Value):
    """Something that a prompt may name."""

    text: str
    """What stands behind the at sign: ``cell 4``, ``df``, ``data/birds.csv``."""
    kind: MentionTarget
    about: str = ""
    """First line of the cell, type and shape of the variable, or the error."""
    failed: bool | None = None
    """The cell ended with an error; else left out."""


class MentionList(Value):
    """What a prompt may name; the newest and nearest first in each kind."""

    rows: tuple[MentionRow, ...] = ()
    more: bool | None = None
    """There are more files than are listed; a query finds them. Else left out."""


class MentionPreview(Value):
    """What would go along with one mention of a prompt."""

    text: str
    """The mention as it was typed, with its at sign."""
    kind: MentionTarget
    name: str
    """Number of the cell, name of the variable or path of the file; empty where there is none."""
    state: MentionState = "sent"
    """``sent``: it goes along; so does ``uncounted``, whose tokens are known when it is sent, and ``busy``, whose tokens are
    known when the cell has ended that runs; ``asks``: you are asked first. The others stay here: ``unknown`` names nothing,
    ``hidden`` is a cell kept from the agent, ``denied`` is denied by a rule, ``unreadable`` cannot be read, and ``beyond``
    is one mention too many."""
    about: str = ""
    """Type and shape of the variable, or the error."""
    tokens: int | None = None
    """What it adds to the prompt."""
