"""Say where the media of a tool result may stand: inside the result, or in a message after it.

The newest recorded agent asks which servers take images and documents inside a tool result
(spec/session-engine.md 1.11); what they refuse follows the answer in a user message.
"""

from palimpsest.transcript.values import ModelRef

PDF = "application/pdf"
BEDROCK_MODELS = ("anthropic.", "nova", "llama4")
"""Models on Bedrock that take images in results."""


def is_media(mime: str) -> bool:
    """Say whether a file is an image or a document that a model may look at."""
    return mime.startswith("image/") or mime == PDF


def takes_in_results(model: ModelRef, mime: str) -> bool:
    """Say whether the model's servers take this kind of media inside a tool result."""
    name = model.name.lower()
    match model.provider:
        case "anthropic" | "openai":
            return True
        case "vertex_ai":
            return "claude" in name
        case "bedrock":
            return mime.startswith("image/") and any(one in name for one in BEDROCK_MODELS)
        case "xai":
            return mime.startswith("image/")
        case "gemini":
            return "gemini-3" in name and "gemini-2" not in name
        case _:
            return False
