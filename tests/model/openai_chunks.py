"""Write the chunks of a stream in OpenAI's format."""

import json
from typing import Any

HEAD = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
END = "data: [DONE]\n\n"


def chunk(finish: str | None = None, **delta: Any) -> str:
    """Return an event with a piece of the answer, or with its finish."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({**HEAD, 'choices': [choice]})}\n\n"
