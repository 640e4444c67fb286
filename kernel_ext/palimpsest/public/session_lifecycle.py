"""What a person's session object can do with the session as a whole: name it, share it, delete it."""

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.public.method_forwarding import SessionHolder
from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.session.interfaces.sharing_operations import FORMS, Form
from palimpsest.session.sharing.exports import form_of
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.transcript.errors import UserError

T = TypeVar("T")


class SessionLifecycle:
    """Names, puts away, shares, exports and deletes one session, and knows its children; waits until it is done."""

    def __init__(self, holder: SessionHolder, session: KernelSession) -> None:
        self._holder = holder
        self._session = session

    def retitle(self, title: str) -> str:
        """Call it otherwise; returns the title as it is kept.

        >>> session.retitle("Penguins")
        'Penguins'
        """
        return self._awaited(self._holder.workspace.retitle(self._session.id, title))

    def archive(self, *, archived: bool = True) -> None:
        """Put it away, or fetch it back: it keeps all it has, and is not listed by itself.

        >>> session.archive()
        >>> session.archive(archived=False)
        """
        self._awaited(self._holder.workspace.archive(self._session.id, archived=archived))

    def delete(self) -> tuple[str, ...]:
        """Delete it and its children for good; returns their ids.

        A session that a fork needs is hidden until its last fork is gone.

        >>> session.fork().delete()[-1] != session.id
        True
        """
        return tuple(self._awaited(self._holder.workspace.delete(self._session.id)))

    def children(self) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of this one began, oldest first.

        >>> list(session.children())
        []
        """
        return tuple(self._awaited(self._holder.workspace.children(self._session.id)))

    def problems(self) -> Sequence[Problem]:
        """Say what of its log cannot be read, and where; it is left out, and nothing is deleted.

        >>> list(session.problems())
        []
        """
        return tuple(self._awaited(self._holder.workspace.problems(self._session.id)))

    def share(self) -> Path:
        """Make a page of the session that can be passed on, or make it anew; returns where it is.

        The page is one file under a name that nobody guesses. Keys and the names of home folders
        are taken out; look through it before you pass it on.

        >>> session.share().suffix
        '.html'
        """
        return self._awaited(self._holder.workspace.sharing.share(self._session.id))

    def unshare(self) -> bool:
        """Delete the session's page; false when there was none.

        >>> session.unshare()
        False
        """
        return self._awaited(self._holder.workspace.sharing.unshare(self._session.id))

    def export(
        self,
        form: str | None = None,
        path: str | Path | None = None,
        *,
        prompts: Prompts = "markdown",
    ) -> Path:
        """Write the session to a new file and return where it is; nothing is written over.

        ``form`` is ``md``, ``ipynb``, ``json``, ``html`` or ``opencode`` (a folder); without it the
        file's ending says it. ``prompts="cells"`` makes prompts ``%%agent`` cells of a notebook.

        >>> session.export("md").suffix
        '.md'
        """
        chosen = checked_form(form)
        sharing = self._holder.workspace.sharing
        return self._awaited(sharing.export(self._session.id, chosen, path, prompts=prompts)).path

    def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = self._holder.engine.submit(work)
        return future.result()


def checked_form(word: str | None) -> Form | None:
    """Return the form that a word names; raises UserError for a word that names none."""
    if word is None:
        return None
    form = form_of(word)
    if form is None:
        raise UserError(f"There is no export to {word!r}; there are {', '.join(FORMS)}.")
    return form
