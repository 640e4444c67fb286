"""The importers that come with Palimpsest, in the order in which they are asked.

Formats whose beginning is unmistakable come first; those that resemble others come last.
"""

from palimpsest.review.importers.claude_code import CLAUDE_CODE
from palimpsest.review.importers.codex import CODEX
from palimpsest.review.importers.opencode import OPENCODE
from palimpsest.review.importers.pi import PI
from palimpsest.review.importing.registry import AnyImporter, ImporterRegistry

BUILT_IN: tuple[AnyImporter, ...] = (PI, CODEX, CLAUDE_CODE, OPENCODE)

REGISTRY = ImporterRegistry(BUILT_IN)
