"""The methods of ``Session`` about the session as a whole: rename, archive, share, export, delete."""

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from palimpsest.app.wiring import App
from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.interfaces.sharing_operations import FORMS, Form
from palimpsest.session.sharing.exports import form_of
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.session.open_sessions.followed_session import KernelSession

T = TypeVar("T")


class SessionLifecycle:
    """Renames, archives, shares, exports and deletes one session, lists its children; each call blocks."""

    def __init__(self, holder: App, session: "KernelSession") -> None:
        self._holder = holder
        self._session = session

    def retitle(self, title: str) -> str:
        """Change the session's title; returns the title as stored.

        >>> session.retitle("Penguins")
        'Penguins'
        """
        return self._awaited(self._holder.workspace.retitle(self._session.id, title))

    def archive(self, *, archived: bool = True) -> None:
        """Archive the session, or unarchive it: an archived one keeps its content and is not listed.

        >>> session.archive()
        >>> session.archive(archived=False)
        """
        self._awaited(self._holder.workspace.archive(self._session.id, archived=archived))

    def delete(self) -> tuple[str, ...]:
        """Delete the session and its children for good; returns their ids.

        A session that a fork needs is only hidden until its last fork is deleted.

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
        """Return what of the session's log cannot be read, and where; it is skipped, not deleted.

        >>> list(session.problems())
        []
        """
        return tuple(self._awaited(self._holder.workspace.problems(self._session.id)))

    def share(self) -> Path:
        """Write a page of the session that can be given to others, or write it anew; returns its path.

        The page is one file with a name that cannot be guessed. Secrets and the names of home folders
        are removed; look through it before you pass it on.

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
        """Write the session to a new file and return its path; no file is overwritten.

        ``form`` is ``md``, ``ipynb``, ``json``, ``html`` or ``opencode`` (a folder); without it the
        file's suffix decides. ``prompts="cells"`` makes prompts ``%%agent`` cells of a notebook.

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
    """Return the export format of a name; raises UserError for an unknown name."""
    if word is None:
        return None
    form = form_of(word)
    if form is None:
        raise UserError(f"There is no export to {word!r}; there are {', '.join(FORMS)}.")
    return form
