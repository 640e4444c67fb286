"""The small objects into which a provider's events are turned, for ``adapter/stream_joiner``."""

from typing import Any


class Function:
    """The name and a piece of the input of a call."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: Any, arguments: Any) -> None:
        self.name = name
        self.arguments = arguments


class CallPiece:
    """A piece of a call."""

    __slots__ = ("function", "id", "index", "type")

    def __init__(self, index: Any, identifier: Any, kind: Any, function: Function | None) -> None:
        self.index = index
        self.id = identifier
        self.type = kind
        self.function = function


class Delta:
    """What one event adds to an answer."""

    __slots__ = (
        "content",
        "function_call",
        "reasoning_content",
        "refusal",
        "thinking_blocks",
        "tool_calls",
    )

    def __init__(
        self,
        content: Any = None,
        *,
        reasoning_content: Any = None,
        thinking_blocks: Any = None,
        tool_calls: Any = None,
        function_call: Any = None,
        refusal: Any = None,
    ) -> None:
        self.content = content
        self.reasoning_content = reasoning_content
        self.thinking_blocks = thinking_blocks
        self.tool_calls = tool_calls
        self.function_call = function_call
        self.refusal = refusal
