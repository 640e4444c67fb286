"""One item of a request's contents, as a context report, a request's contents and a proposal list it."""

from collections.abc import Mapping
from typing import Literal

from palimpsest.transcript.values import Value

ItemState = Literal[
    "whole", "truncated", "cleared", "masked", "summarised", "offloaded", "out", "reverted"
]
"""``summarised`` and ``out`` items take no tokens; the others take those of what is shown instead."""
STATES: Mapping[str, ItemState] = {"truncate": "truncated", "clear": "cleared", "drop": "out"}
"""How a part is shown after each action of a decision."""
ShownAs = ItemState | Literal["pictures smaller", "pictures left out", "told as text"]
"""How a request shows an item; the last three concern an output whose text is sent whole, and a provider's own call."""


class RequestItem(Value):
    """A section of the system prompt, a tool, or one block of a message, in the order in which it is sent."""

    kind: str
    """One of ``REQUEST_KINDS``, or the kind of a timeline's item, such as ``call``."""
    name: str = ""
    """A tool, a file, a section, or who speaks."""
    words: str = ""
    """Its first line, or the subject of the call. Data, not markup."""
    tokens: float
    """An estimate: of the next request by the policy's estimator, of a recorded one scaled to what was reported."""
    state: ShownAs = "whole"
    pinned: bool = False
    message_id: str | None = None
    part_id: str | None = None
    new: bool = False
    """Of a proposal: it was not in the request before, or not as it is now."""
    remark: str = ""
    """How a tool's description differs from the written one; empty where it does not."""
    item: int | None = None
    """Of a request's contents: the timeline's item, from 0; None for what is none, such as words the engine adds to one request."""
    role: str = ""
    """``system``, ``user``, ``assistant`` or ``tool``."""
    text: str = ""
    """What the request holds; in brackets what is known of it where the text is not. Data, not markup."""
    chars: int = 0
    """Characters of the whole text, of which a page is told the beginning."""
    is_error: bool = False

    @property
    def remarks(self) -> str:
        """How it is shown if not whole, whether it is pinned, and other remarks, in one line."""
        remarks = ("" if self.state == "whole" else self.state, "pinned" * self.pinned, self.remark)
        return ", ".join(filter(None, remarks))
