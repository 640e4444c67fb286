"""Determine a request's streaming format (OpenAI, Anthropic, Gemini, Mistral) and model by its path."""

import re
from typing import Any, Literal

WireFormat = Literal["openai", "anthropic", "gemini", "mistral"]

GEMINI_PATH = re.compile(r".*/models/([^/:]+):(?:streamGenerateContent|generateContent)")
MISTRAL_ROOT = "/mistral"
"""Mistral's paths equal OpenAI's, so the fault server gives it a root of its own."""


def wire_format_of(path: str) -> WireFormat:
    """Return the streaming format of a request by its path."""
    if path.endswith("/messages"):
        return "anthropic"
    if GEMINI_PATH.fullmatch(path):
        return "gemini"
    return "mistral" if path.startswith(f"{MISTRAL_ROOT}/") else "openai"


def model_of(path: str, body: Any) -> str:
    """Return the model that a request names: in the body, and for Gemini in the path."""
    match = GEMINI_PATH.fullmatch(path)
    if match:
        return match[1]
    return str(body.get("model", "")) if isinstance(body, dict) else ""
