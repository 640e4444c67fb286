"""What a provider takes in one request: pictures, their sides, pixels and bytes, and the size of a tool's schema.

Border: pure data, with the page and the month in which each number was read. A request beyond one of them is refused,
and so is every later request of the session, which holds the same pictures. Only what is documented, or was seen in a
refusal, stands here: a provider without a row has no known limit, and what it refuses is learned from its refusal
(``context/reduction/picture_limits.py``).
"""

from dataclasses import dataclass, fields

from palimpsest.transcript.provider_profile.provider_table import Family, Wire

MEGABYTE = 1_000_000
MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The largest that a request may be; None where no limit is known."""

    pictures: int | None = None
    """Pictures and documents of one request."""
    side: int | None = None
    """Pixels of the longer side of a picture."""
    many: int | None = None
    """With more pictures than this, ``many_side`` holds for each of them."""
    many_side: int | None = None
    pixels: int | None = None
    """Width times height of a picture."""
    picture_bytes: int | None = None
    """Of a picture or document, as Base64."""
    request_bytes: int | None = None
    """Of the whole request, where pictures and documents stand as Base64."""
    schema_chars: int | None = None
    """Characters of the schema of one tool, as JSON."""

    def stricter(self, other: "RequestLimits") -> "RequestLimits":
        """Return the limits under which a request is accepted by both."""
        found = {}
        for field in fields(self):
            known = [getattr(one, field.name) for one in (self, other)]
            numbers = [one for one in known if one is not None]
            found[field.name] = min(numbers) if numbers else None
        return RequestLimits(**found)

    @property
    def any_of_pictures(self) -> bool:
        """Whether anything is known about pictures or documents."""
        return self != NO_LIMITS and self != RequestLimits(schema_chars=self.schema_chars)


NO_LIMITS = RequestLimits()

CLAUDE = RequestLimits(
    pictures=100,
    side=8_000,
    many=20,
    many_side=2_000,
    picture_bytes=5 * MEBIBYTE,
)
"""platform.claude.com/docs, "Vision", request limits (2026-09): 100 pictures, of at most 8,000 pixels a side, or 2,000 where
there are more than 20; 5 MB each as Base64. Refusals of 2026-02 count pages of documents among the 100."""

FAMILY_LIMITS: dict[Family, RequestLimits] = {"anthropic": CLAUDE}
"""Limits of a model, whoever serves it."""

WIRE_LIMITS: dict[Wire, RequestLimits] = {
    # platform.claude.com/docs, "API overview" (2026-09): 32 MB a request.
    "anthropic": RequestLimits(request_bytes=32 * MEGABYTE),
    # docs.aws.amazon.com, "Message" of Converse (2026-09): 20 images of 3.75 MB, 8,000 pixels a side.
    "bedrock": RequestLimits(pictures=20, side=8_000, picture_bytes=5 * MEGABYTE),
    # platform.openai.com/docs, "Images and vision" (2025-11): 500 images and 50 MB a request; "Structured outputs":
    # a schema has 120,000 characters at most.
    "openai": RequestLimits(pictures=500, request_bytes=50 * MEGABYTE, schema_chars=120_000),
    # learn.microsoft.com, "Azure OpenAI quotas and limits" (2025-11): 50 images a request.
    "azure": RequestLimits(pictures=50, request_bytes=50 * MEGABYTE, schema_chars=120_000),
    # ai.google.dev/gemini-api/docs, "Image understanding" (2025-11): 3,600 images, 20 MB a request with inline data.
    "gemini": RequestLimits(pictures=3_600, request_bytes=20 * MEGABYTE),
    # docs.mistral.ai, "Vision", FAQ (2025-11): 8 images of 10 MB, 10,000 pixels a side.
    "mistral": RequestLimits(pictures=8, side=10_000, picture_bytes=10 * MEGABYTE),
}

PROVIDER_LIMITS: dict[str, RequestLimits] = {
    # console.groq.com/docs/vision (2025-11): 5 images, 33 megapixels each, 4 MB a request with Base64.
    "groq": RequestLimits(pictures=5, pixels=33_177_600, request_bytes=4 * MEGABYTE),
    # docs.x.ai, "Image understanding" (2026-09): 20 MiB a picture, no limit on their number.
    "xai": RequestLimits(picture_bytes=20 * MEBIBYTE),
    # docs.fireworks.ai, "Vision models" (2025-11): 30 images, 10 MB of Base64 together.
    "fireworks_ai": RequestLimits(pictures=30, request_bytes=10 * MEGABYTE),
    # github.com/scaleway/docs-content (2024-11): 12 images a conversation.
    "scaleway": RequestLimits(pictures=12),
}
"""Limits of providers that share a wire with others, by the prefix of their models."""


def request_limits(provider: str, wire: Wire, family: Family) -> RequestLimits:
    """Return what one request may hold: the limits of the server and those of the model, each where they are known."""
    found = PROVIDER_LIMITS.get(provider) or WIRE_LIMITS.get(wire, NO_LIMITS)
    return found.stricter(FAMILY_LIMITS.get(family, NO_LIMITS))
