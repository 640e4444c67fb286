"""The things that a prompt may mention with an at sign, and their content that would be sent, as values.

Border: values alone; ``session/prompts/mention_previews.py`` makes them and the page draws them.
"""

from typing import Literal

from palimpsest.transcript.values import Value

MentionTarget = Literal["error", "variable", "cell", "out", "file"]
"""The kind of thing that a mention names."""
MentionState = Literal[
    "sent", "unknown", "hidden", "denied", "asks", "busy", "uncounted", "unreadable", "beyond"
]


class MentionRow(Value):
    """Something that a prompt may name."""

    text: str
    """The text after the at sign: ``cell 4``, ``df``, ``data/birds.csv``."""
    kind: MentionTarget
    about: str = ""
    """First line of the cell, type and shape of the variable, or the error."""
    failed: bool | None = None
    """Whether the cell ended with an error; the field is left out if it did not."""


class MentionList(Value):
    """The things that a prompt may mention, in each kind the newest and nearest first."""

    rows: tuple[MentionRow, ...] = ()
    more: bool | None = None
    """Whether there are more files than are listed, which a query finds; the field is left out if not."""


class MentionPreview(Value):
    """The content that would be sent with a prompt because of one mention."""

    text: str
    """The mention as it was typed, with its at sign."""
    kind: MentionTarget
    name: str
    """Number of the cell, name of the variable or path of the file; empty where there is none."""
    state: MentionState = "sent"
    """``sent``, ``uncounted`` and ``busy`` are sent with the prompt; tokens are not known before sending for ``uncounted``,
    nor before the running cell has ended for ``busy``. ``asks``: the user is asked first. The others are not sent:
    ``unknown`` names nothing, ``hidden`` is a cell hidden from the agent, ``denied`` is denied by a rule, ``unreadable``
    cannot be read, and ``beyond`` exceeds the number of mentions allowed."""
    about: str = ""
    """Type and shape of the variable, or the error."""
    tokens: int | None = None
    """Tokens that the mention adds to the prompt."""
