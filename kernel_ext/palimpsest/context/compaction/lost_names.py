"""Decide which names of the texts that a summary replaces are lost: what is shown instead holds them no more.

Border: pure, and does not judge meaning. It compares words: a name that stands in the summary, or in what is
shown word for word beside it, is not lost. Review (``review/request_contents/compaction_losses.py``) and the grade
of a new summary (``summary_grade.py``) decide by these functions, so that both say the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from palimpsest.context.compaction.loss_report import KINDS

LEAST_CHARS = 4
"""Shorter names are too often the same by chance."""
_WORD = re.compile(r"[\w.,/-]+")


@dataclass(frozen=True, slots=True)
class LostNames:
    """The names that texts hold, and those of them that are lost."""

    found: Mapping[str, int]
    """How many names there are, by kind; kinds without any are not named."""
    kinds: Mapping[str, str] = field(repr=False)
    """The kind of each lost name, in the order in which the texts hold them."""

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the lost names of a kind."""
        return tuple(name for name, one in self.kinds.items() if one == kind)


def names_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each name in a text, kind by kind."""
    for kind, pattern in KINDS.items():
        for match in pattern.finditer(text):
            name = match[0].rstrip(".,:;")
            if len(name) >= LEAST_CHARS:
                yield kind, name


def lost_names(replaced: Iterable[str], summary: str, beside: Iterable[str]) -> LostNames:
    """Return what is lost of the texts that a summary replaces; ``beside`` are those that are shown with it."""
    kept = _names_and_words((summary, *beside))
    kinds: dict[str, str] = {}
    for text in replaced:
        for kind, name in names_of(text):
            kinds.setdefault(name, kind)
    found = dict.fromkeys(KINDS, 0)
    for kind in kinds.values():
        found[kind] += 1
    return LostNames(
        found={kind: number for kind, number in found.items() if number},
        kinds={
            name: kind for name, kind in kinds.items() if name not in kept and name not in summary
        },
    )


def _names_and_words(texts: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for text in texts:
        found.update(name for _, name in names_of(text))
        found.update(_WORD.findall(text))
    return frozenset(found)
