"""The importers that come with Palimpsest, in the order in which they are asked.

Formats whose beginning is unmistakable come first; those that resemble others come last.
"""

from palimpsest.review.importers.atif import ATIF
from palimpsest.review.importers.claude_code import CLAUDE_CODE
from palimpsest.review.importers.cline import CLINE
from palimpsest.review.importers.codex import CODEX
from palimpsest.review.importers.gemini_cli import GEMINI_CLI
from palimpsest.review.importers.inspect_eval import INSPECT_EVAL
from palimpsest.review.importers.mini_swe_agent import MINI_SWE_AGENT
from palimpsest.review.importers.openai_chat import OPENAI_CHAT
from palimpsest.review.importers.opencode import OPENCODE
from palimpsest.review.importers.openhands import OPENHANDS
from palimpsest.review.importers.otel_genai import OTEL_GENAI
from palimpsest.review.importers.pi import PI
from palimpsest.review.importers.swe_agent import SWE_AGENT
from palimpsest.review.importing.registry import AnyImporter, ImporterRegistry

BUILT_IN: tuple[AnyImporter, ...] = (
    PI,
    CODEX,
    CLAUDE_CODE,
    INSPECT_EVAL,
    SWE_AGENT,
    MINI_SWE_AGENT,
    OPENCODE,
    ATIF,
    CLINE,
    GEMINI_CLI,
    OPENHANDS,
    OTEL_GENAI,
    OPENAI_CHAT,
)

REGISTRY = ImporterRegistry(BUILT_IN)
