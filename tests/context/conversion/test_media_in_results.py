"""Media stays inside a tool result only when the model's servers accept it there."""

import pytest

from palimpsest.context.conversion.part_conversion import is_media, takes_in_results
from palimpsest.transcript.provider_profile.provider_table import PDF
from palimpsest.transcript.values import ModelRef


@pytest.mark.parametrize(
    ("provider", "name", "taken"),
    [
        ("anthropic", "claude-test", (True, True)),
        ("openai", "gpt-test", (True, True)),
        ("vertex_ai", "claude-test", (True, True)),
        ("vertex_ai", "gemini-3-pro", (False, False)),
        ("bedrock", "us.anthropic.claude-test", (True, False)),
        ("bedrock", "mistral-large", (False, False)),
        ("xai", "grok", (True, False)),
        ("gemini", "gemini-3-pro", (True, True)),
        ("gemini", "gemini-2.5-pro", (False, False)),
        ("mistral", "mistral-large", (False, False)),
    ],
)
def test_each_provider_takes_its_own(provider: str, name: str, taken: tuple[bool, bool]) -> None:
    model = ModelRef(provider=provider, name=name)

    assert (takes_in_results(model, "image/png"), takes_in_results(model, PDF)) == taken


def test_images_and_documents_are_media_and_tables_are_not() -> None:
    assert [is_media(mime) for mime in ("image/png", PDF, "text/csv", "audio/wav")] == [
        True,
        True,
        False,
        False,
    ]
