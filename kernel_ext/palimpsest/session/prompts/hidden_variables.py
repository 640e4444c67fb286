"""Keep variables from the agent whose names the setting ``hidden_variables`` lists.

Border: wraps what reads the user's variables, so that lists, descriptions, mentions and completions all
pass here. A hidden variable is not told, not offered and not described; what the agent's own Python may
read is a matter of permissions, since it asks.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from palimpsest.session.interfaces.prompt_mentions import QuietNamespace
from palimpsest.tools.tool import TYPES, Namespace, ShownVariables, VariableInfo
from palimpsest.transcript.errors import UserError

HIDDEN = (
    "The user keeps the variable {name} from you (setting hidden_variables): it stays in the kernel. Do not look "
    "for its value in another way."
)
_NAME = re.compile(r"[^\W\d]\w*")


class HiddenVariable(UserError):
    """A variable is kept from the agent by its name."""


class HiddenNames:
    """Tells by its name whether a variable is kept from the agent, and counts those that were."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self.left_out: frozenset[str] = frozenset()
        """Names that were left out of the newest list of variables."""

    def __contains__(self, name: str) -> bool:
        return any(fnmatchcase(name, one) for one in self._patterns)

    def check(self, path: str) -> None:
        """Raise HiddenVariable for a path with a name that is kept, wherever in the path it stands."""
        for name in _NAME.findall(path):
            if name in self:
                raise HiddenVariable(HIDDEN.format(name=name))

    def shown(self, found: Sequence[VariableInfo]) -> list[VariableInfo]:
        """Return the variables that are not kept, and note the others."""
        self.left_out = frozenset(one.name for one in found if one.name in self)
        return [one for one in found if one.name not in self]


class HidingNamespace:
    """Reads the user's variables without those that are kept from the agent (tools.tool.Namespace)."""

    def __init__(self, inner: Namespace, hidden: HiddenNames) -> None:
        self._inner = inner
        self._hidden = hidden

    async def list(self, shown: ShownVariables = TYPES) -> Sequence[VariableInfo]:
        """Return the descriptions of all variables that are not kept."""
        named = frozenset(one for one in shown.named if one not in self._hidden)
        return self._hidden.shown(await self._inner.list(replace(shown, named=named)))

    async def describe(self, name: str, max_chars: int = 4_000) -> str:
        """Return a long description of one variable; raises HiddenVariable for one that is kept."""
        self._hidden.check(name)
        return await self._inner.describe(name, max_chars)


class HidingQuietNamespace(HidingNamespace):
    """The same while a prompt is typed (session.interfaces.prompt_mentions.QuietNamespace)."""

    def __init__(self, inner: QuietNamespace, hidden: HiddenNames) -> None:
        super().__init__(inner, hidden)
        self._quiet = inner

    def names(self) -> Sequence[tuple[str, str]]:
        """Return name and brief description of each variable that is not kept."""
        return [one for one in self._quiet.names() if one[0] not in self._hidden]

    def brief(self, path: str) -> str:
        """Return type and shape of the value at a path; raises HiddenVariable for one that is kept."""
        self._hidden.check(path)
        return self._quiet.brief(path)
