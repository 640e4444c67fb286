"""What a person's session object can do with the session as a whole: name it, put it away, delete it."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from palimpsest.store.store import Problem, SessionSummary


class Keeping:
    """Names, puts away and deletes one session, and knows its children."""

    @property
    def id(self) -> str:
        """The session's id."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """What it is called.

        >>> len(session.title) > 0
        True
        """
        kept = vars(self)["_live"].snapshot().session
        return str(kept.title) if kept is not None else ""

    def retitle(self, title: str) -> str:
        """Call it otherwise; returns the title as it is kept.

        >>> session.retitle("Penguins")
        'Penguins'
        """
        return str(self._kept(self._shelf.retitle(self.id, title)))

    def archive(self, *, archived: bool = True) -> None:
        """Put it away, or fetch it back: it keeps all it has, and is not listed by itself.

        >>> session.archive()
        >>> session.archive(archived=False)
        """
        self._kept(self._shelf.archive(self.id, archived=archived))

    def delete(self) -> tuple[str, ...]:
        """Delete it and its children for good; returns their ids.

        A session that a fork needs is hidden until its last fork is gone.

        >>> session.fork().delete()[-1] != session.id
        True
        """
        return tuple(self._kept(self._shelf.delete(self.id)))

    def children(self) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of this one began, oldest first.

        >>> list(session.children())
        []
        """
        return tuple(self._kept(self._shelf.children(self.id)))

    def problems(self) -> Sequence[Problem]:
        """Say what of its log cannot be read, and where; it is left out, and nothing is deleted.

        >>> list(session.problems())
        []
        """
        return tuple(self._kept(self._shelf.problems(self.id)))

    @property
    def _shelf(self) -> Any:
        return vars(self)["_app"].workspace

    def _kept(self, work: Any) -> Any:
        future: Future[Any] = vars(self)["_app"].engine.submit(work)
        return future.result()
