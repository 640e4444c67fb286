"""What providers refuse: one validator for each format, written from their documented rules.

Pure functions from the body of a request to sentences, one for each thing that is wrong; none
means that the provider would take it. A fault server that checks by them refuses what the provider
would (``FaultServer(check=problems)``), and the laws of a valid context are proved against them:
they share no code with what writes requests.
"""

from typing import Any

from tests.provider_rules import anthropic, gemini, mistral, openai

from palimpsest.testing.dialects import model_of, wire_format_of


def problems(path: str, body: Any) -> list[str]:
    """Return what the provider would refuse in a request, one sentence each."""
    match wire_format_of(path):
        case "openai":
            return openai.problems(body)
        case "anthropic":
            return anthropic.problems(body)
        case "gemini":
            return gemini.problems(body, model_of(path, body))
        case "mistral":
            return mistral.problems(body)
