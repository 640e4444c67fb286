"""The importers that come with Palimpsest, in the order in which they are tried.

Formats with an unmistakable beginning come first; those that resemble others come last.
"""

from palimpsest.recordings.captured_http.capture_importer import CapturedHttpImporter
from palimpsest.recordings.formats.aider import AiderImporter
from palimpsest.recordings.formats.atif import AtifImporter
from palimpsest.recordings.formats.claude_code import ClaudeCodeImporter
from palimpsest.recordings.formats.cline import ClineImporter
from palimpsest.recordings.formats.codex import CodexImporter
from palimpsest.recordings.formats.gemini_cli import GeminiCliImporter
from palimpsest.recordings.formats.inspect_eval import InspectEvalImporter
from palimpsest.recordings.formats.kimi_cli import KimiCliImporter
from palimpsest.recordings.formats.mini_swe_agent import MiniSweAgentImporter
from palimpsest.recordings.formats.openai_chat import OpenAIChatImporter
from palimpsest.recordings.formats.opencode import OpenCodeImporter
from palimpsest.recordings.formats.openhands import OpenHandsImporter
from palimpsest.recordings.formats.otel_genai import OtelGenAiImporter
from palimpsest.recordings.formats.pi import PiImporter
from palimpsest.recordings.formats.swe_agent import SweAgentImporter
from palimpsest.recordings.import_journal.registry import ImporterRegistry
from palimpsest.recordings.reading.importer import AnyImporter

BUILT_IN: tuple[AnyImporter, ...] = (
    PiImporter(),
    CodexImporter(),
    ClaudeCodeImporter(),
    CapturedHttpImporter(),
    InspectEvalImporter(),
    KimiCliImporter(),
    AiderImporter(),
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
