"""The base of ``Session``: its application, its open session, and the operations that are carried out on it."""

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from palimpsest.app.wiring import App
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.frontends.operations.operation import Desk, Operation
    from palimpsest.session.open_sessions.followed_session import KernelSession

T = TypeVar("T")


def operation_of(
    name: str, arguments: Mapping[str, Any], session: str | None = None
) -> "Operation":
    """Return an operation with these arguments, by default about a session; raises UserError."""
    from palimpsest.frontends.operation_table import TABLE

    kind = TABLE.find(name)
    if kind is None:
        raise UserError(f"There is no operation {name!r}; there are {', '.join(TABLE.by_type)}.")
    field = kind.model_fields.get("session")
    # Where it is empty by default it names a session of a recording.
    mine = {"session": session} if field is not None and field.default != "" else {}
    return kind.of(**{**mine, **arguments})


class SessionCalls:
    """Builds the operations of a session's methods, and has them carried out."""

    def __init__(self, app: App, live: "KernelSession") -> None:
        self._app = app
        self._live = live

    def run(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out an operation by the name that pages call it by, with this session for its own; returns its answer.

        It is what ``%agent`` and the panel carry out, too (docs/routes.md lists the names and arguments). Raises
        UserError.

        >>> session.run("title", title="Penguins").title
        'Penguins'
        """
        return self._awaited(self._built(operation, **arguments).run(self._desk()))

    def _at_once(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out an operation on the caller's thread, which may be the engine's own."""
        return self._built(operation, **arguments).done_at_once(self._desk(at_once=True))

    def _built(self, name: str, **arguments: Any) -> "Operation":
        """Return an operation with these arguments; raises UserError."""
        return operation_of(name, arguments, session=self._live.id)

    def _desk(self, *, at_once: bool = False) -> "Desk":
        from palimpsest.frontends.operations.operation import Desk

        return Desk(self._app, self._found, at_once=at_once)

    async def _found(self, identifier: str | None) -> "KernelSession":
        if identifier in (None, self._live.id):
            return self._live
        return await self._app.workspace.open(str(identifier))

    def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        return self._app.engine.submit(work).result()
