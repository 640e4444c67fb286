"""The table of operations: each is listed once, and magic, pages, help, completion and the protocol are made of it.

A module of operations is one line in ``_modules``; ``register`` adds an operation of a test or of another package.
The modules are imported at the first question: a cell that only asks the agent needs none of them.
"""

from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import ClassVar, Literal, NamedTuple

from palimpsest.frontends.operations.operation import Desk, Form, Forms, Operation
from palimpsest.transcript.values import Value


def _modules() -> tuple[ModuleType, ...]:
    from palimpsest.frontends.operations import (  # noqa: PLC0415 - see above
        context,
        controls,
        definitions,
        extensions,
        page,
        reverts,
        sessions,
        sharing,
        status,
        step_mode,
        storage,
        turns,
    )

    return (
        *(status, sessions, turns, context, reverts, controls, step_mode),
        *(definitions, extensions, storage, sharing, page),
    )


class _Operations(NamedTuple):
    """Operations by their types, and the forms of cells and of the panel by their names."""

    by_type: dict[str, type[Operation]]
    forms: dict[str, tuple[Form, type[Operation]]]
    panel_forms: dict[str, tuple[Form, type[Operation]]]

    def add(self, operation: type[Operation]) -> None:
        self.by_type[str(operation.model_fields["type"].default)] = operation
        for form in operation.forms:
            if form.in_cell:
                self.forms[form.name] = form, operation
            if form.in_panel:
                self.panel_forms[form.name] = form, operation


class OperationTable:
    """All operations, by the type that pages name them by, and by the names that they have behind ``%agent``."""

    @cached_property
    def _listed(self) -> _Operations:
        listed = _Operations({}, {}, {})
        for module in _modules():
            for operation in operations_of(module):
                listed.add(operation)
        listed.add(Help)
        listed.add(ListButtons)
        return listed

    @property
    def by_type(self) -> dict[str, type[Operation]]:
        """All operations, by their types."""
        return self._listed.by_type

    @property
    def forms(self) -> dict[str, tuple[Form, type[Operation]]]:
        """Those for cells, in the order of the help text."""
        return self._listed.forms

    @property
    def panel_forms(self) -> dict[str, tuple[Form, type[Operation]]]:
        """Those that the panel runs when they are typed."""
        return self._listed.panel_forms

    def register(self, operation: type[Operation]) -> None:
        """Add an operation; one with the same type or name takes its place."""
        self._listed.add(operation)

    @property
    def help(self) -> dict[str, str]:
        """What each form is for, by its name."""
        return {name: form.help for name, (form, _) in self.forms.items()}

    @property
    def in_page(self) -> dict[str, type[Operation]]:
        """The operations that pages may send, by their types."""
        return {name: one for name, one in self.by_type.items() if one.in_page}


def operations_of(module: ModuleType) -> Iterator[type[Operation]]:
    """Yield the operations that a module defines, in order."""
    for one in vars(module).values():
        is_own = isinstance(one, type) and one.__module__ == module.__name__
        if is_own and issubclass(one, Operation) and "type" in one.model_fields:
            yield one


class OperationButton(Value):
    """A button of the panel that asks for an operation."""

    label: str
    help: str
    """What it is for, in one line."""
    command: str
    """The operation's type."""
    arguments: dict[str, str | bool | int] = {}


class ListedButtons(Value):
    """The buttons that the table has for the panel, in order."""

    buttons: tuple[OperationButton, ...]


class ListButtons(Operation):
    """List the buttons that operations have in the panel; what a button's operation answers comes with its words."""

    type: Literal["buttons"] = "buttons"

    async def run(self, at: Desk) -> ListedButtons:  # noqa: ARG002
        """Return those of the forms that have one."""
        return ListedButtons(
            buttons=tuple(
                OperationButton(
                    label=form.button, help=form.help, command=name, arguments=dict(form.fixed)
                )
                for name, operation in TABLE.in_page.items()
                for form in operation.forms
                if form.button
            )
        )


class Help(Operation):
    """Show the help text, which is made of this table."""

    type: Literal["help"] = "help"
    in_page: ClassVar[bool] = False
    forms = Forms(Form("help", "this text"))


TABLE = OperationTable()
