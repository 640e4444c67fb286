"""What a person's session object can do to give the session out."""

from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.api import KernelSession
from palimpsest.session.exporting import FORMS, Form, form_of
from palimpsest.session.forwarding import SessionHolder
from palimpsest.transcript.errors import UserError

T = TypeVar("T")


class SessionExports:
    """Shares and exports one session; waits until it is done."""

    def __init__(self, holder: SessionHolder, session: KernelSession) -> None:
        self._holder = holder
        self._session = session

    def share(self) -> Path:
        """Make a page of the session that can be passed on, or make it anew; returns where it is.

        The page is one file under a name that nobody guesses. Keys and the names of home folders
        are taken out; look through it before you pass it on.

        >>> session.share().suffix
        '.html'
        """
        return self._given(self._holder.workspace.giving.share(self._session.id))

    def unshare(self) -> bool:
        """Delete the session's page; false when there was none.

        >>> session.unshare()
        False
        """
        return self._given(self._holder.workspace.giving.unshare(self._session.id))

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
        giving = self._holder.workspace.giving
        return self._given(giving.export(self._session.id, chosen, path, prompts=prompts)).path

    def _given(self, work: Coroutine[Any, Any, T]) -> T:
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
