"""Read the tokens that Gemini CLI counts: the prompt with what was cached, the answer without its thoughts."""

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.transcript.values import Usage

FORMAT = "gemini-cli"


def gemini_usage(
    counts: JsonValue, *, prompt: str = "input", answer: str = "output"
) -> Usage | None:
    """Return the usage in an object, given its names of prompt and answer; None where nothing was counted."""
    cached, whole_prompt = counts.tokens("cached"), counts.tokens(prompt)
    if not (whole_prompt or counts.tokens(answer)):
        return None
    return Usage(
        # Prompts of the provider's own tools are counted beside the prompt.
        input=max(0, whole_prompt - cached) + counts.tokens("tool"),
        output=counts.tokens(answer),
        reasoning=counts.tokens("thoughts"),
        cache_read=cached,
    )
