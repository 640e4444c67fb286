"""Patterns that are compiled when somebody first looks for them.

A start imports hundreds of patterns for texts that a first answer does not have: to compile them all takes a tenth of its time.
"""

import re
from typing import Any, cast

METHODS = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


class LazyPattern:
    """Stands for a pattern, and compiles it at the first use of a method."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        # Later uses cost what they cost with the pattern itself.
        self.__dict__.update({one: getattr(compiled, one) for one in METHODS})
        return self.__dict__[name]


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at its first use, for its methods: not for the functions of ``re``.

    >>> lazy_pattern("a+").findall("aab a")
    ['aa', 'a']
    """
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
