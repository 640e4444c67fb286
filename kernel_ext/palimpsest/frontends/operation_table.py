"""The table of operations: each is listed once, and magic, pages, command line, help, completion and the protocol are made of it.

``operations/modules.py`` lists the modules; ``register`` adds an operation of a test or of another package.
A module is imported at the first question about what it lists, and all at the first question about the whole table.
"""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from palimpsest.frontends.operation_text.command_output import Lines, PolicySection
from palimpsest.frontends.operations.modules import MODULES, Listed
from palimpsest.frontends.operations.operation import Desk, Form, Operation
from palimpsest.frontends.protocol.choices import AgentChoice
from palimpsest.transcript.values import Value

MOST_ARGUMENTS = 500
"""Words in one answer about what may follow a command."""
ROOM = "palimpsest.frontends.operations"


class Operations(NamedTuple):
    """Operations by their types, and the forms of cells, of the panel and of ``palimpsest`` by their names."""

    by_type: dict[str, type[Operation]]
    forms: dict[str, tuple[Form, type[Operation]]]
    panel_forms: dict[str, tuple[Form, type[Operation]]]
    terminal_forms: dict[str, tuple[Form, type[Operation]]]

    @classmethod
    def of(cls, modules: Iterable[str]) -> "Operations":
        """Return those of modules, which are imported."""
        listed = cls({}, {}, {}, {})
        for name in modules:
            for operation in operations_of(import_module(f"{ROOM}.{name}")):
                listed.add(operation)
        return listed

    def add(self, operation: type[Operation]) -> None:
        """Add an operation; one with the same type or name gives way."""
        self.by_type[str(operation.model_fields["type"].default)] = operation
        for form in operation.forms:
            if form.in_cell:
                self.forms[form.name] = form, operation
            if form.in_panel:
                self.panel_forms[form.name] = form, operation
            if form.in_terminal:
                self.terminal_forms[form.name] = form, operation


class OperationTable:
    """All operations, by the type that pages name them by, and by the names that they have behind ``%agent``."""

    def __init__(self) -> None:
        self._whole: Operations | None = None

    @property
    def _listed(self) -> Operations:
        if self._whole is None:
            whole = Operations.of(one.module for one in MODULES)
            whole.add(Help)
            whole.add(ListButtons)
            whole.add(ProposeArguments)
            self._whole = whole
        return self._whole

    def find(self, kind: str) -> type[Operation] | None:
        """Return the operation of a type; no other module than its own is imported."""
        return self._of(one for one in MODULES if kind in one.types.split()).by_type.get(kind)

    def command(self, name: str) -> tuple[Form, type[Operation]]:
        """Return a command of ``palimpsest``; no other module than its own is imported."""
        return self._of(one for one in MODULES if name in one.commands).terminal_forms[name]

    def _of(self, modules: Iterable[Listed]) -> Operations:
        names = [one.module for one in modules]
        return Operations.of(names) if names and self._whole is None else self._listed

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
        """Add an operation; one with the same type or name gives way."""
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
    """What the table has for the panel, in order."""

    buttons: tuple[OperationButton, ...]
    commands: tuple[AgentChoice, ...] = ()
    """What may be typed behind a slash, beside the person's own commands."""


class ListButtons(Operation):
    """List what operations have in the panel: buttons, whose operations answer with words, and commands to type."""

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
            ),
            commands=panel_commands(),
        )


class ProposedArguments(Value):
    """What may stand in the place of the word that is being typed."""

    words: tuple[str, ...]


class ProposeArguments(Operation):
    """List what may follow a command that is being typed behind a slash, as a cell completes it."""

    type: Literal["arguments"] = "arguments"
    session: str | None = None
    text: str = Field(max_length=2_000)
    """What stands before the caret, from the slash on."""

    async def run(self, at: Desk) -> ProposedArguments:
        """Return it; nothing where no command is named, or nothing is known to follow."""
        from palimpsest.frontends.operations.argument_completion import (  # noqa: PLC0415 - with the first question
            arguments_after,
            known_values,
        )

        name, *words = self.text.removeprefix("/").split() or [""]
        current = words.pop() if words and not self.text[-1].isspace() else ""
        found = TABLE.panel_forms.get(name.lower())
        if found is None:
            return ProposedArguments(words=())
        session = await at.find(self.session)

        def proposed() -> tuple[str, ...]:
            values = partial(known_values, at.services, session)
            return tuple(arguments_after(*found, words, current, values))[:MOST_ARGUMENTS]

        return ProposedArguments(words=await asyncio.to_thread(proposed))


class Help(Operation):
    """Show the help text, which is made of this table."""

    type: Literal["help"] = "help"
    in_page: ClassVar[bool] = False
    forms = (Form("help", "list the commands"),)

    async def run(self, at: Desk) -> Lines:  # noqa: ARG002
        """Return what may be typed behind a slash; a cell's help has the options of a prompt, too."""
        rows = [(f"/{one.name}", one.description) for one in panel_commands()]
        return [PolicySection("", ("command", "what it does"), rows)]


def panel_commands() -> tuple[AgentChoice, ...]:
    """Return what may be typed behind a slash in the panel, in the order of the table."""
    return tuple(
        AgentChoice(name=name, description=form.help.replace("%agent ", "/"))
        for name, (form, _) in TABLE.panel_forms.items()
    )


TABLE = OperationTable()
