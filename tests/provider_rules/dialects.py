"""Validate a request body for the provider of its path, by the provider's documented rules.

Pure functions from the body of a request to sentences, one for each problem; a provider would accept a body
without problems. A fault server with such a check refuses what the provider would
(``FaultServer(check=problems)``), and the laws of a valid context are tested against it: it shares no code
with the modules that write requests.
"""

from typing import Any

from tests.provider_rules import anthropic, gemini, mistral, openai

from palimpsest.testing.dialects import model_of, wire_format_of


def problems(path: str, body: Any) -> list[str]:
    """Return the problems for which the provider would refuse a request, one sentence each."""
    match wire_format_of(path):
        case "openai":
            return openai.problems(body)
        case "anthropic":
            return anthropic.problems(body)
        case "gemini":
            return gemini.problems(body, model_of(path, body))
        case "mistral":
            return mistral.problems(body)
