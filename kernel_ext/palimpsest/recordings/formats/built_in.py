"""The importers that come with Palimpsest, in the order in which they are tried; each is imported when it is tried.

Formats with an unmistakable beginning come first; those that resemble others come last.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from palimpsest.recordings.import_journal.registry import ImporterRegistry
from palimpsest.recordings.reading.importer import AnyImporter

IMPORTER_CLASSES = (
    "formats.pi.PiImporter",
    "formats.codex.CodexImporter",
    "formats.claude_code.ClaudeCodeImporter",
    "captured_http.capture_importer.CapturedHttpImporter",
    "formats.inspect_eval.InspectEvalImporter",
    "formats.kimi_cli.KimiCliImporter",
    "formats.aider.AiderImporter",
    "formats.swe_agent.SweAgentImporter",
    "formats.mini_swe_agent.MiniSweAgentImporter",
    "formats.opencode.OpenCodeImporter",
    "formats.atif.AtifImporter",
    "formats.cline.ClineImporter",
    "formats.gemini_cli.GeminiCliImporter",
    "formats.openhands.OpenHandsImporter",
    "formats.otel_genai.OtelGenAiImporter",
    "formats.openai_chat.OpenAIChatImporter",
)
"""Names of the importers' classes, each with its module in ``recordings``."""


class BuiltInImporters(Iterable[AnyImporter]):
    """The importers of ``IMPORTER_CLASSES``; each module is imported when its importer is first asked for."""

    def __iter__(self) -> Iterator[AnyImporter]:
        return map(_importer, IMPORTER_CLASSES)


@cache
def _importer(qualified_name: str) -> AnyImporter:
    module, _, class_name = qualified_name.rpartition(".")
    importer_class = getattr(import_module(f"palimpsest.recordings.{module}"), class_name)
    importer: AnyImporter = importer_class()
    return importer


BUILT_IN = BuiltInImporters()
REGISTRY = ImporterRegistry(BUILT_IN)
