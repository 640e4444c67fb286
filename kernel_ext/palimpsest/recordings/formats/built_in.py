"""The importers that come with Palimpsest, in the order in which they are tried; each is imported when it is tried.

Formats with an unmistakable beginning come first; those that resemble others come last.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import overload

from palimpsest.recordings.import_journal.registry import ImporterRegistry
from palimpsest.recordings.reading.importer import AnyImporter

IMPORTER_PATHS = (
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
"""Names of modules in ``recordings``, each with its class."""


class ImportersInOrder(Sequence[AnyImporter]):
    """The importers of named classes; each module is imported when its importer is first asked for."""

    def __init__(self, importer_paths: Sequence[str]) -> None:
        self._classes = importer_paths
        self._made: dict[str, AnyImporter] = {}

    @overload
    def __getitem__(self, index: int) -> AnyImporter: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[AnyImporter]: ...

    def __getitem__(self, index: int | slice) -> AnyImporter | Sequence[AnyImporter]:
        """Return the importer at a place."""
        if isinstance(index, slice):
            return [self._importer(name) for name in self._classes[index]]
        return self._importer(self._classes[index])

    def __len__(self) -> int:
        return len(self._classes)

    def _importer(self, name: str) -> AnyImporter:
        if name not in self._made:
            module, _, class_name = name.rpartition(".")
            importer_class = getattr(import_module(f"palimpsest.recordings.{module}"), class_name)
            self._made[name] = importer_class()
        return self._made[name]


BUILT_IN = ImportersInOrder(IMPORTER_PATHS)

REGISTRY = ImporterRegistry(BUILT_IN)
