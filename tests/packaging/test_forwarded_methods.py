"""A forwarded method looks as its part's own, whenever the part's class is imported."""

import inspect

from palimpsest.public.session_calls import forwarded_method
from palimpsest.public.session_object import Session
from palimpsest.review.session_review import SessionReview


class Part:
    """A part of a whole."""

    def add(self, number: int, *, twice: bool = False) -> int:
        """Add one, or two."""
        return number + 1 + twice


class Whole:
    """A whole that forwards to a part."""

    looked: list[str] = []

    @staticmethod
    def _part_class() -> type[Part]:
        Whole.looked.append("looked")
        return Part

    add = forwarded_method(lambda _whole: Part(), lambda: Whole._part_class().add)


class Narrower(Whole):
    """Inherits the method."""


def test_the_parts_class_is_asked_for_once_and_by_the_first_look() -> None:
    standing_in = vars(Whole)["add"]
    assert Whole.looked == []

    assert Narrower().add(1, twice=True) == 3
    assert Whole().add(1) == 2
    assert (Whole.add.__name__, Whole.add.__doc__) == ("add", "Add one, or two.")
    assert Whole.looked == ["looked"]
    # As another thread does that looked at the same moment.
    assert standing_in.__get__(Whole(), Whole)(1) == 2


def test_sessions_methods_of_review_have_its_words_and_parameters() -> None:
    for name in ("compare", "sweep", "breaks", "wastes", "proof", "why", "request", "difference"):
        mine, theirs = getattr(Session, name), getattr(SessionReview, name)
        assert inspect.getdoc(mine) == inspect.getdoc(theirs)
        assert inspect.signature(mine) == inspect.signature(theirs)
