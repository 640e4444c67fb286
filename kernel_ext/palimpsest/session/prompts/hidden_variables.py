"""Hide variables from the agent by the name patterns of the setting ``hidden_variables``.

Border: wraps the readers of the user's variables, so that lists, descriptions, mentions and completions all pass here.
A hidden variable is not shown, offered or described; permissions decide what the agent's own Python may read.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from palimpsest.session.interfaces.prompt_mentions import QuietNamespace
from palimpsest.tools.tool import NAMES_AND_TYPES, Namespace, ShownVariables, VariableInfo
from palimpsest.transcript.errors import UserError

HIDDEN_REASON = (
    "The user keeps the variable {name} from you (setting hidden_variables): it stays in the kernel. Do not look "
    "for its value in another way."
)
_NAME = re.compile(r"[^\W\d]\w*")


class HiddenVariable(UserError):
    """A variable is hidden from the agent by its name."""


class HiddenNames:
    """Decides by its name whether a variable is hidden, and records the names that were left out."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self.left_out: frozenset[str] = frozenset()
        """Names that were left out of the newest list of variables."""

    def __contains__(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._patterns)

    def check(self, path: str) -> None:
        """Raise HiddenVariable for a path in which any name is hidden."""
        for name in _NAME.findall(path):
            if name in self:
                raise HiddenVariable(HIDDEN_REASON.format(name=name))

    def visible_variables(self, variables: Sequence[VariableInfo]) -> list[VariableInfo]:
        """Return the variables that are not hidden, and record the names of the others."""
        self.left_out = frozenset(variable.name for variable in variables if variable.name in self)
        return [variable for variable in variables if variable.name not in self]


class HidingNamespace:
    """Reads the user's variables without the hidden ones (tools.tool.Namespace)."""

    def __init__(self, namespace: Namespace, hidden_names: HiddenNames) -> None:
        self._inner_namespace = namespace
        self._hidden_names = hidden_names

    async def list(self, detail: ShownVariables = NAMES_AND_TYPES) -> Sequence[VariableInfo]:
        """Return the descriptions of all variables that are not hidden."""
        readable_names = frozenset(
            name for name in detail.readable_names if name not in self._hidden_names
        )
        variables = await self._inner_namespace.list(replace(detail, readable_names=readable_names))
        return self._hidden_names.visible_variables(variables)

    async def description_of(self, name: str, max_chars: int = 4_000) -> str:
        """Return a long description of one variable; raises HiddenVariable for a hidden one."""
        self._hidden_names.check(name)
        return await self._inner_namespace.description_of(name, max_chars)


class HidingQuietNamespace(HidingNamespace):
    """Hides the same variables while a prompt is typed (session.interfaces.prompt_mentions.QuietNamespace)."""

    def __init__(self, namespace: QuietNamespace, hidden_names: HiddenNames) -> None:
        super().__init__(namespace, hidden_names)
        self._quiet_namespace = namespace

    def names(self) -> Sequence[tuple[str, str]]:
        """Return name and brief description of each variable that is not hidden."""
        names = self._quiet_namespace.names()
        return [entry for entry in names if entry[0] not in self._hidden_names]

    def type_and_shape(self, path: str) -> str:
        """Return type and shape of the value at a path; raises HiddenVariable for a hidden one."""
        self._hidden_names.check(path)
        return self._quiet_namespace.type_and_shape(path)
