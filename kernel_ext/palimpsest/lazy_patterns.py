"""Regular expressions that are compiled at their first use.

The package has hundreds of patterns that a first answer does not need; compiling them all would take a tenth of the
start. Border: the standard library only.
"""

import re
from typing import Any, cast

METHODS = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


class LazyPattern:
    """A pattern that is compiled at the first use of a method."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # Later uses call the methods of the compiled pattern directly.
        self.__dict__.update({method: getattr(compiled, method) for method in METHODS})
        return self.__dict__[name]


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when a method of it is first used; the functions of ``re`` do not accept it.

    >>> lazy_pattern("a+").findall("aab a")
    ['aa', 'a']
    """
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
