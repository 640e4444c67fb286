"""The importers that come with Palimpsest, in the order in which they are asked.

Formats whose beginning is unmistakable come first; those that resemble others come last.
"""

from palimpsest.review.importers.atif import AtifImporter
from palimpsest.review.importers.claude_code import ClaudeCodeImporter
from palimpsest.review.importers.cline import ClineImporter
from palimpsest.review.importers.codex import CodexImporter
from palimpsest.review.importers.gemini_cli import GeminiCliImporter
from palimpsest.review.importers.inspect_eval import InspectEvalImporter
from palimpsest.review.importers.mini_swe_agent import MiniSweAgentImporter
from palimpsest.review.importers.openai_chat import OpenAIChatImporter
from palimpsest.review.importers.opencode import OpenCodeImporter
from palimpsest.review.importers.openhands import OpenHandsImporter
from palimpsest.review.importers.otel_genai import OtelGenAiImporter
from palimpsest.review.importers.pi import PiImporter
from palimpsest.review.importers.swe_agent import SweAgentImporter
from palimpsest.review.importing.registry import AnyImporter, ImporterRegistry

BUILT_IN: tuple[AnyImporter, ...] = (
    PiImporter(),
    CodexImporter(),
    ClaudeCodeImporter(),
    InspectEvalImporter(),
    SweAgentImporter(),
    MiniSweAgentImporter(),
    OpenCodeImporter(),
    AtifImporter(),
    ClineImporter(),
    GeminiCliImporter(),
    OpenHandsImporter(),
    OtelGenAiImporter(),
    OpenAIChatImporter(),
)

REGISTRY = ImporterRegistry(BUILT_IN)
