"""Limits of providers on one request: pictures, their sides, pixels and bytes, and the size of a tool's schema.

Border: pure data; each row names the page or the refusal that its numbers come from, with the month. A provider refuses a
request beyond a limit, and then every later request of the session, since those hold the same pictures. Only numbers that
are documented or were seen in a refusal are listed; where the two differ, the refusal counts, because a limit that is too
small would hide pictures from a model that accepts them. For a provider without a row no limit is known; its limits are
learned from its refusals (``context/reduction/picture_limits.py``).
"""

from dataclasses import dataclass

from palimpsest.transcript.provider_profile.provider_table import Wire

MEGABYTE = 1_000_000
MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request; None where no limit is known."""

    pictures: int | None = None
    """Maximum number of pictures and documents in one request."""
    side: int | None = None
    """Maximum pixels of a picture's longer side."""
    many: int | None = None
    """Number of pictures above which ``many_side`` limits each of them instead of ``side``."""
    many_side: int | None = None
    """Maximum pixels of a picture's longer side in a request with more than ``many`` pictures."""
    pixels: int | None = None
    """Maximum pixels of a picture: width times height."""
    picture_bytes: int | None = None
    """Maximum bytes of a picture or document, as Base64."""
    request_bytes: int | None = None
    """Maximum bytes of the whole request, with pictures and documents as Base64."""
    schema_chars: int | None = None
    """Maximum characters of all names, enumerated and constant values in the schema of one tool."""

    @property
    def has_picture_limits(self) -> bool:
        """Whether any limit on pictures or documents is known."""
        return self != NO_LIMITS and self != RequestLimits(schema_chars=self.schema_chars)


NO_LIMITS = RequestLimits()


@dataclass(frozen=True, slots=True)
class LimitRow:
    """Limits, and the source of their numbers."""

    limits: RequestLimits
    source: str
    """Page or refusal, and the month in which it was read or seen."""


LARGE_WINDOW = 200_000
"""Maximum tokens of a window with which Claude accepts only the pictures of ``CLAUDE``."""
VISION = "platform.claude.com/docs/en/build-with-claude/vision"
CLAUDE = LimitRow(
    RequestLimits(pictures=100, side=8_000, many=20, many_side=2_000),
    f"{VISION}, 2026-09; refusals of 2026-02 count pages of documents, too",
)
CLAUDE_LARGE = LimitRow(
    RequestLimits(pictures=600, side=8_000, many=20, many_side=2_000),
    f"{VISION}, 2026-09: models with a window above 200,000 tokens",
)
CLAUDE_ELSEWHERE = LimitRow(
    RequestLimits(picture_bytes=5 * MEBIBYTE), f"{VISION}, 2026-09: on Bedrock and Google Cloud"
)
"""Also applied to Claude behind a gateway, which may forward requests to Bedrock or Google Cloud."""

WIRE_LIMITS: dict[Wire, LimitRow] = {
    "anthropic": LimitRow(
        RequestLimits(request_bytes=32 * MEGABYTE, picture_bytes=10 * MEBIBYTE),
        f"{VISION} and platform.claude.com/docs/en/api/overview, 2026-09",
    ),
    # The page's 20 pictures hold for a message; of a request, the user guide says that Bedrock limits no number (2026-09).
    "bedrock": LimitRow(
        RequestLimits(side=8_000, picture_bytes=5 * MEGABYTE),
        "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html, 2026-09: 3.75 MB before Base64",
    ),
    # The page says 512 MB; requests above 50 MB are refused all the same.
    "openai": LimitRow(
        RequestLimits(pictures=1_500, request_bytes=50 * MEGABYTE, schema_chars=120_000),
        "developers.openai.com/api/docs/guides/images-vision and .../structured-outputs, 2026-09; refusals of 2026-09 "
        "(exceeds the allowed limit of 50MB)",
    ),
    "azure": LimitRow(
        RequestLimits(pictures=50),
        "learn.microsoft.com/en-us/azure/foundry/openai/quotas-limits, 2026-09; refusals of 2026-09",
    ),
    "gemini": LimitRow(
        RequestLimits(pictures=3_600, request_bytes=100 * MEGABYTE),
        "ai.google.dev/gemini-api/docs/image-understanding and .../file-input-methods, 2026-09",
    ),
    "mistral": LimitRow(
        RequestLimits(pictures=8, picture_bytes=10 * MEGABYTE),
        "docs.mistral.ai/capabilities/vision, 2026-09",
    ),
}
"""Limits by the wire format that a server speaks."""

PROVIDER_LIMITS: dict[str, LimitRow] = {
    "deepseek": LimitRow(
        RequestLimits(
            pictures=600,
            side=8_192,
            many=14,
            many_side=4_096,
            request_bytes=48 * MEBIBYTE,
            picture_bytes=32 * MEBIBYTE,
        ),
        "api-docs.deepseek.com/guides/vision, 2026-09; refusals of 2026-09",
    ),
    "vertex_ai": LimitRow(
        RequestLimits(pictures=3_000),
        "docs.cloud.google.com/gemini-enterprise-agent-platform/models/capabilities/image-understanding, 2026-09",
    ),
    "groq": LimitRow(
        RequestLimits(pictures=5, pixels=33_177_600, request_bytes=4 * MEGABYTE),
        "console.groq.com/docs/vision, 2026-08",
    ),
    "xai": LimitRow(
        RequestLimits(picture_bytes=20 * MEBIBYTE),
        "docs.x.ai/developers/model-capabilities/images/understanding, 2026-09: no limit on their number",
    ),
    # The page says 30 pictures of 10 MB together; 60 of 300 MB were accepted, and the refusal of the 61st says 60.
    "fireworks_ai": LimitRow(RequestLimits(pictures=60), "refusals of 2026-07 and 2026-09"),
    "dashscope": LimitRow(
        RequestLimits(pictures=250, picture_bytes=20 * MEBIBYTE),
        "help.aliyun.com/zh/model-studio/rate-limit, 2026-09; refusals of 2026-09",
    ),
    "scaleway": LimitRow(
        RequestLimits(pictures=12),
        "github.com/scaleway/docs-content, generative-apis/how-to/query-vision-models, 2024-11",
    ),
}
"""Limits of single providers that share a wire format with others, by the prefix of their models' ids."""
