"""The methods of ``Session`` about the session as a whole: rename, archive, share, export, delete."""

from collections.abc import Sequence
from pathlib import Path

from palimpsest.public.session_calls import SessionCalls
from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.interfaces.sharing_operations import FORMS, Form
from palimpsest.session.sharing.exports import form_of
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.transcript.errors import UserError


class SessionLifecycle(SessionCalls):
    """Renames, archives, shares, exports and deletes one session, lists its children; each call blocks."""

    def retitle(self, title: str) -> str:
        """Change the session's title; returns the title as stored.

        >>> session.retitle("Penguins")
        'Penguins'
        """
        return str(self.run("title", title=title).title)

    def archive(self, *, archived: bool = True) -> None:
        """Archive the session, or unarchive it: an archived one keeps its content and is not listed.

        >>> session.archive()
        >>> session.archive(archived=False)
        """
        self.run("archive", archived=archived)

    def delete(self) -> tuple[str, ...]:
        """Delete the session and its children for good; returns their ids.

        A session that a fork needs is only hidden until its last fork is deleted.

        >>> session.fork().delete()[-1] != session.id
        True
        """
        return tuple(self.run("delete").ids)

    def children(self) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of this one began, oldest first.

        >>> list(session.children())
        []
        """
        return tuple(self.run("children").sessions)

    def problems(self) -> Sequence[Problem]:
        """Return the places of the session's log that cannot be read; they are skipped, not deleted.

        >>> list(session.problems())
        []
        """
        return tuple(self._await_work(self._app.workspace.problems(self._kernel_session.id)))

    def share(self) -> Path:
        """Write a page of the session that can be given to others, or write it again; returns its path.

        The page is one file with a name that cannot be guessed. Secrets and the names of home folders
        are removed; look through it before you pass it on.

        >>> session.share().suffix
        '.html'
        """
        return Path(self.run("share").path)

    def unshare(self) -> bool:
        """Delete the session's page; false when there was none.

        >>> session.unshare()
        False
        """
        # ``late``: there was no page any more.
        return not self.run("unshare").late

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
        path_text = None if path is None else str(path)
        exported_file = self.run("export", form=checked_form(form), path=path_text, prompts=prompts)
        return Path(exported_file.path)


def checked_form(name: str | None) -> Form | None:
    """Return the export format with this name, None without a name; raises UserError for an unknown name."""
    if name is None:
        return None
    form = form_of(name)
    if form is None:
        raise UserError(f"There is no export to {name!r}; there are {', '.join(FORMS)}.")
    return form
