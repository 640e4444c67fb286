"""The small objects into which a provider's events are turned, for ``adapter/stream_joiner``."""

from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(slots=True, eq=False)
class Function:
    """The name and a piece of the input of a call."""

    name: Any
    arguments: Any


@dataclass(slots=True, eq=False)
class CallPiece:
    """A piece of a call."""

    index: Any
    id: Any
    type: Any
    function: Function | None


@dataclass(slots=True, eq=False)
class Delta:
    """The delta that one event adds to an answer."""

    content: Any = None
    _: KW_ONLY
    reasoning_content: Any = None
    thinking_blocks: Any = None
    tool_calls: Any = None
    function_call: Any = None
    refusal: Any = None
