"""The base of ``Session``, which carries out operations on its open session, and ``forwarded_method``, for methods of a part."""

import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from palimpsest.app.wiring import App
from palimpsest.transcript.errors import UserError

if TYPE_CHECKING:
    from palimpsest.frontends.operation_base.operation import Operation, OperationContext
    from palimpsest.session.open_sessions.followed_session import KernelSession

W = TypeVar("W")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


def operation_of(
    name: str, arguments: Mapping[str, Any], session_id: str | None = None
) -> "Operation":
    """Return an operation with these arguments, by default about a session; raises UserError."""
    from palimpsest.frontends.operation_table import TABLE

    operation_type = TABLE.operation_type(name)
    if operation_type is None:
        raise UserError(f"There is no operation {name!r}; there are {', '.join(TABLE.by_type)}.")
    field = operation_type.model_fields.get("session")
    # Where the field is empty by default, it names a session of a recording.
    session_field = {"session": session_id} if field is not None and field.default != "" else {}
    return operation_type.with_arguments(**{**session_field, **arguments})


class SessionCalls:
    """Builds the operations of a session's methods, and carries them out."""

    def __init__(self, app: App, kernel_session: "KernelSession") -> None:
        self._app = app
        self._kernel_session = kernel_session

    def run(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out an operation on this session, by its name in the protocol of pages; returns its answer.

        ``%agent`` and the panel carry out the same operations (docs/routes.md lists the names and arguments). Raises
        UserError.

        >>> session.run("title", title="Penguins").title
        'Penguins'
        """
        return self._await_work(
            self._build_operation(operation, **arguments).run(self._operation_context())
        )

    def _run_at_once(self, operation: str, /, **arguments: Any) -> Any:
        """Carry out an operation on the caller's thread, which may be the engine's own."""
        return self._build_operation(operation, **arguments).run_synchronously(
            self._operation_context(is_synchronous=True)
        )

    def _build_operation(self, name: str, **arguments: Any) -> "Operation":
        return operation_of(name, arguments, session_id=self._kernel_session.id)

    def _operation_context(self, *, is_synchronous: bool = False) -> "OperationContext":
        from palimpsest.frontends.operation_base.operation import OperationContext

        return OperationContext(self._app, self._find_session, is_synchronous=is_synchronous)

    async def _find_session(self, identifier: str | None) -> "KernelSession":
        if identifier in (None, self._kernel_session.id):
            return self._kernel_session
        return await self._app.workspace.open(str(identifier))

    def _await_work(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._app.engine.submit(coroutine).result()


def forwarded_method(
    get_part: Callable[[W], T], import_method: Callable[[], Callable[Concatenate[T, P], R]]
) -> Callable[Concatenate[W, P], R]:
    """Return a method that calls a part's method, with the same name, docstring and parameters.

    ``import_method`` imports the part's class, at the first access only.
    """
    return cast("Callable[Concatenate[W, P], R]", _ForwardedMethod(get_part, import_method))


class _ForwardedMethod(Generic[W, T, P, R]):
    """A descriptor that replaces itself in the class by the method at the first access."""

    def __init__(
        self,
        get_part: Callable[[W], T],
        import_method: Callable[[], Callable[Concatenate[T, P], R]],
    ) -> None:
        self._get_part = get_part
        self._import_method = import_method

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: W | None, owner: type) -> Any:
        get_part, method = self._get_part, self._import_method()

        @functools.wraps(method)
        def call(instance: W, /, *arguments: P.args, **named: P.kwargs) -> R:
            return method(get_part(instance), *arguments, **named)

        setattr(self._owner, self._name, call)
        return getattr(owner if instance is None else instance, self._name)
