"""The methods of ``Session`` about the session as a whole: rename, archive, share, export, delete."""

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.app.wiring import App
from palimpsest.render.formats.notebook import Prompts
from palimpsest.session.interfaces.sharing_operations import FORMS, Form
from palimpsest.session.open_sessions.kernel_session import KernelSession
from palimpsest.session.sharing.exports import form_of
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.transcript.errors import UserError

T = TypeVar("T")


class SessionLifecycle:
    """Renames, archives, shares, exports and deletes one session, lists its children; each call blocks."""

    def __init__(self, holder: App, session: KernelSession) -> None:
        self._holder = holder
        self._session = session

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
        return Path(self.run("share").path)

    def unshare(self) -> bool:
        """Delete the session's page; false when there was none.

        >>> session.unshare()
        False
        """
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
        named = None if path is None else str(path)
        made = self.run("export", form=checked_form(form), path=named, prompts=prompts)
        return Path(made.path)

    def run(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out an operation by the name that pages call it by, with this session for its own; returns its answer.

        It is what ``%agent`` and the panel carry out, too (docs/routes.md lists the names and arguments). Raises
        UserError.

        >>> session.run("title", title="Penguins").title
        'Penguins'
        """
        from palimpsest.frontends.operation_table import TABLE
        from palimpsest.frontends.operations.operation import Desk

        kind = TABLE.by_type.get(operation)
        if kind is None:
            raise UserError(
                f"There is no operation {operation!r}; there are {', '.join(TABLE.by_type)}."
            )
        if "session" in kind.model_fields:
            arguments.setdefault("session", self._session.id)
        desk = Desk(self._holder, self._found)
        return self._awaited(kind.of(**arguments).run(desk))

    async def _found(self, identifier: str | None) -> KernelSession:
        if identifier in (None, self._session.id):
            return self._session
        return await self._holder.workspace.open(str(identifier))

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
