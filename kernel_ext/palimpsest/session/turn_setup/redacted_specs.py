"""Take secrets out of the descriptions of tools, once for each set of secrets.

Every step sends the same descriptions, and looking through them word by word was most of what a prompt spent on secrets.
"""

from palimpsest.session.engine import KernelSecrets
from palimpsest.transcript.redaction.secret_removal import redacted_value
from palimpsest.transcript.values import ToolSpec


class RedactedSpecs:
    """Returns tool specs without secrets, and remembers those that it has looked through."""

    def __init__(self, secrets: KernelSecrets) -> None:
        self._secrets = secrets
        self._values: tuple[str, ...] = ()
        self._known: dict[str, tuple[ToolSpec, ToolSpec]] = {}
        """By the tool's name: its spec as given, and without secrets."""

    def __call__(self, spec: ToolSpec) -> ToolSpec:
        """Return a spec without secrets."""
        values = self._secrets()
        if values != self._values:
            self._values, self._known = values, {}
        given, shown = self._known.get(spec.name, (None, spec))
        if given != spec:
            shown = redacted_value(spec, self._secrets.clean)
            # A copy: a server that changes its schema in place gives the same object again.
            self._known[spec.name] = spec.model_copy(deep=True), shown
        return shown
