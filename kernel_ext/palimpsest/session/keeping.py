"""What a person's session object can do with the session as a whole: name it, put it away, delete it."""

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from palimpsest.session.api import KernelSession
from palimpsest.session.forwarding import SessionHolder
from palimpsest.store.interface import Problem, SessionSummary

T = TypeVar("T")


class SessionLifecycle:
    """Names, puts away and deletes one session, and knows its children."""

    def __init__(self, holder: SessionHolder, session: KernelSession) -> None:
        self._holder = holder
        self._session = session

    def retitle(self, title: str) -> str:
        """Call it otherwise; returns the title as it is kept.

        >>> session.retitle("Penguins")
        'Penguins'
        """
        return self._kept(self._holder.workspace.retitle(self._session.id, title))

    def archive(self, *, archived: bool = True) -> None:
        """Put it away, or fetch it back: it keeps all it has, and is not listed by itself.

        >>> session.archive()
        >>> session.archive(archived=False)
        """
        self._kept(self._holder.workspace.archive(self._session.id, archived=archived))

    def delete(self) -> tuple[str, ...]:
        """Delete it and its children for good; returns their ids.

        A session that a fork needs is hidden until its last fork is gone.

        >>> session.fork().delete()[-1] != session.id
        True
        """
        return tuple(self._kept(self._holder.workspace.delete(self._session.id)))

    def children(self) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of this one began, oldest first.

        >>> list(session.children())
        []
        """
        return tuple(self._kept(self._holder.workspace.children(self._session.id)))

    def problems(self) -> Sequence[Problem]:
        """Say what of its log cannot be read, and where; it is left out, and nothing is deleted.

        >>> list(session.problems())
        []
        """
        return tuple(self._kept(self._holder.workspace.problems(self._session.id)))

    def _kept(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = self._holder.engine.submit(work)
        return future.result()
