"""One item of a request's contents, as a context report, a request's contents and a proposal list it."""

from collections.abc import Mapping
from typing import Literal

from palimpsest.transcript.values import Value

ItemState = Literal[
    "whole", "truncated", "cleared", "masked", "summarised", "offloaded", "out", "reverted"
]
"""``summarised`` and ``out`` items take no tokens; the others take those of what is shown instead."""
STATE_OF_ACTION: Mapping[str, ItemState] = {
    "truncate": "truncated",
    "clear": "cleared",
    "drop": "out",
}
"""How a part is shown after each action of a decision."""
ShownAs = ItemState | Literal["pictures smaller", "pictures left out", "told as text"]
"""How a request shows an item; the last three concern an output whose text is sent whole, and a provider's own call."""


class RequestItem(Value):
    """A section of the system prompt, a tool, or one block of a message, in the order in which it is sent."""

    kind: str
    """One of ``REQUEST_KINDS``, or the kind of a timeline's item, such as ``call``."""
    name: str = ""
    """Name of the tool, file or section, or the role of the speaker."""
    words: str = ""
    """The first line of the text, or the subject of the call. Data, not markup."""
    tokens: float
    """Estimated tokens: by the policy's estimator for the next request, scaled to the reported usage for a recorded one."""
    state: ShownAs = "whole"
    pinned: bool = False
    message_id: str | None = None
    part_id: str | None = None
    new: bool = False
    """In a proposal: whether the item was not in the request before, or was different there."""
    remark: str = ""
    """How a tool's description differs from the one in its source; empty where it does not."""
    item: int | None = None
    """In a request's contents: the index of the timeline's item; None for other text, such as the engine's notes."""
    role: str = ""
    """``system``, ``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """The text in the request; where it is not known, a description in brackets. Data, not markup."""
    chars: int = 0
    """Characters of the whole text; a page is sent only its beginning."""
    is_error: bool = False

    @property
    def remarks(self) -> str:
        """The item's state if not whole, whether it is pinned, and other remarks, in one line."""
        remarks = ("" if self.state == "whole" else self.state, "pinned" * self.pinned, self.remark)
        return ", ".join(filter(None, remarks))
