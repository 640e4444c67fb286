"""What a person's session object can do to give the session out."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from palimpsest.render.notebook import Prompts
from palimpsest.session.exporting import FORMS, Exported, Form, form_of
from palimpsest.session.giving import Giving
from palimpsest.transcript.errors import UserError


class Handing:
    """Shares and exports one session; waits until it is done."""

    @property
    def id(self) -> str:
        """The session's id."""
        raise NotImplementedError

    def share(self) -> Path:
        """Make a page of the session that can be passed on, or make it anew; returns where it is.

        The page is one file under a name that nobody guesses. Keys and the names of home folders
        are taken out; look through it before you pass it on.

        >>> session.share().suffix
        '.html'
        """
        path: Path = self._given(self._giving.share(self.id))
        return path

    def unshare(self) -> bool:
        """Delete the session's page; false when there was none.

        >>> session.unshare()
        False
        """
        return bool(self._given(self._giving.unshare(self.id)))

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
        made: Exported = self._given(self._giving.export(self.id, chosen, path, prompts=prompts))
        return made.path

    @property
    def _holder(self) -> Any:
        """What holds the engine and the workspace; the class that inherits this keeps it."""
        return vars(self)["_app"]

    @property
    def _giving(self) -> Giving:
        giving: Giving = self._holder.workspace.giving
        return giving

    def _given(self, work: Any) -> Any:
        future: Future[Any] = self._holder.engine.submit(work)
        return future.result()


def checked_form(word: str | None) -> Form | None:
    """Return the form that a word names; raises UserError for a word that names none."""
    if word is None:
        return None
    form = form_of(word)
    if form is None:
        raise UserError(f"There is no export to {word!r}; there are {', '.join(FORMS)}.")
    return form
