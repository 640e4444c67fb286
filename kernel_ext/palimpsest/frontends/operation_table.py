"""The table of operations, from which magic, pages, command line, help, completion and the protocol are derived.

``operation_base/operation_modules.py`` lists the modules; ``register`` adds an operation of a test or of another package.
A module is imported when one of its operations is first looked up; all are imported when the whole table is read.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from palimpsest.frontends.operation_base.operation import Form, Operation, OperationContext
from palimpsest.frontends.operation_base.operation_modules import MODULES, OperationModule
from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.frontends.protocol.choices import AgentChoice
from palimpsest.transcript.values import Value

MAX_PROPOSED_ARGUMENTS = 500
"""Maximum completions in one answer about a command's arguments."""
OPERATIONS_PACKAGE = "palimpsest.frontends.operations"


class OperationIndex(NamedTuple):
    """Operations by type, and the forms for cells, the panel and ``palimpsest`` by name."""

    by_type: dict[str, type[Operation]]
    forms: dict[str, tuple[Form, type[Operation]]]
    panel_forms: dict[str, tuple[Form, type[Operation]]]
    terminal_forms: dict[str, tuple[Form, type[Operation]]]

    @classmethod
    def of_modules(cls, modules: Iterable[OperationModule]) -> "OperationIndex":
        """Import modules and return their operations."""
        index = cls({}, {}, {}, {})
        for module in modules:
            for operation in operations_of(import_module(f"{OPERATIONS_PACKAGE}.{module.name}")):
                index.add(operation)
        return index

    def add(self, operation: type[Operation]) -> None:
        """Add an operation; it replaces one with the same type or name."""
        self.by_type[str(operation.model_fields["type"].default)] = operation
        for form in operation.forms:
            if form.in_cell:
                self.forms[form.name] = form, operation
            if form.in_panel:
                self.panel_forms[form.name] = form, operation
            if form.in_terminal:
                self.terminal_forms[form.name] = form, operation


class OperationTable:
    """All operations, by the type that a page sends and by the name after ``%agent``."""

    def __init__(self) -> None:
        self._operation_index: OperationIndex | None = None

    @property
    def _all_operations(self) -> OperationIndex:
        if self._operation_index is None:
            index = OperationIndex.of_modules(MODULES)
            for operation in (Help, ListButtons, ProposeArguments):
                index.add(operation)
            self._operation_index = index  # set when it is complete, since other threads read it
        return self._operation_index

    def operation_type(self, type_name: str) -> type[Operation] | None:
        """Return the operation of a type, importing only its module; None for an unknown type."""
        modules = [module for module in MODULES if type_name in module.types.split()]
        return self._imported_operations(modules).by_type.get(type_name)

    def command(self, name: str) -> tuple[Form, type[Operation]]:
        """Return the form and operation of a command of ``palimpsest``, importing only its module."""
        modules = [module for module in MODULES if name in module.commands]
        return self._imported_operations(modules).terminal_forms[name]

    def _imported_operations(self, modules: Sequence[OperationModule]) -> OperationIndex:
        if modules and self._operation_index is None:
            return OperationIndex.of_modules(modules)
        return self._all_operations

    @property
    def by_type(self) -> dict[str, type[Operation]]:
        """All operations, by their types."""
        return self._all_operations.by_type

    @property
    def forms(self) -> dict[str, tuple[Form, type[Operation]]]:
        """The forms for cells, in the order of the help text."""
        return self._all_operations.forms

    @property
    def panel_forms(self) -> dict[str, tuple[Form, type[Operation]]]:
        """The forms that can be typed in the panel."""
        return self._all_operations.panel_forms

    def register(self, operation: type[Operation]) -> None:
        """Add an operation; it replaces one with the same type or name."""
        self._all_operations.add(operation)

    @property
    def help(self) -> dict[str, str]:
        """The help line of each form, by its name."""
        return {name: form.help for name, (form, _) in self.forms.items()}

    @property
    def page_operations(self) -> dict[str, type[Operation]]:
        """The operations that pages may send, by their types."""
        return {
            type_name: operation
            for type_name, operation in self.by_type.items()
            if operation.in_page
        }


def operations_of(module: ModuleType) -> Iterator[type[Operation]]:
    """Yield the operations that a module defines, in order."""
    for member in vars(module).values():
        is_defined_here = isinstance(member, type) and member.__module__ == module.__name__
        if is_defined_here and issubclass(member, Operation) and "type" in member.model_fields:
            yield member


class OperationButton(Value):
    """A button of the panel that asks for an operation."""

    label: str
    help: str
    """Its purpose, in one line."""
    command: str
    """The operation's type."""
    arguments: dict[str, str | bool | int] = {}


class ListedButtons(Value):
    """The panel's buttons and typed commands, in the order of the table."""

    buttons: tuple[OperationButton, ...]
    commands: tuple[AgentChoice, ...] = ()
    """Built-in commands that can be typed after a slash, beside the user's own."""


class ListButtons(Operation):
    """List the panel's buttons, whose operations answer with text, and its slash commands."""

    type: Literal["buttons"] = "buttons"

    async def run(self, context: OperationContext) -> ListedButtons:  # noqa: ARG002
        """Return the buttons and slash commands of all forms that have them."""
        buttons = tuple(
            OperationButton(
                label=form.button,
                help=form.help,
                command=type_name,
                arguments=dict(form.fixed_values),
            )
            for type_name, operation in TABLE.page_operations.items()
            for form in operation.forms
            if form.button
        )
        return ListedButtons(buttons=buttons, commands=panel_commands())


class ProposedArguments(Value):
    """Completions for the word that is being typed."""

    words: tuple[str, ...]


class ProposeArguments(Operation):
    """List completions for a slash command that is being typed, as a cell completes it."""

    type: Literal["arguments"] = "arguments"
    session: str | None = None
    text: str = Field(max_length=2_000)
    """The text before the caret, from the slash on."""

    async def run(self, context: OperationContext) -> ProposedArguments:
        """Return the completions; empty where no command is named or it has no known arguments."""
        from palimpsest.frontends.operation_base.argument_completion import (
            argument_completions,
            known_values,
        )

        name, *words = self.text.removeprefix("/").split() or [""]
        word_start = words.pop() if words and not self.text[-1].isspace() else ""
        form_and_operation = TABLE.panel_forms.get(name.lower())
        if form_and_operation is None:
            return ProposedArguments(words=())
        session = await context.find(self.session)

        values_of = partial(known_values, context.services, session)
        from asyncio import to_thread

        completions = await to_thread(
            argument_completions, *form_and_operation, words, word_start, values_of
        )
        return ProposedArguments(words=tuple(completions)[:MAX_PROPOSED_ARGUMENTS])


class Help(Operation):
    """Show the help text, which is derived from this table."""

    type: Literal["help"] = "help"
    in_page: ClassVar[bool] = False
    forms = (Form("help", "list the commands"),)

    async def run(self, context: OperationContext) -> OutputLines:  # noqa: ARG002
        """Return the list of slash commands; a cell's help also has the options of a prompt."""
        rows = [(f"/{command.name}", command.description) for command in panel_commands()]
        return [TitledTable("", ("command", "what it does"), rows)]


def panel_commands() -> tuple[AgentChoice, ...]:
    """Return the panel's slash commands, in the order of the table."""
    return tuple(
        AgentChoice(name=name, description=form.help.replace("%agent ", "/"))
        for name, (form, _) in TABLE.panel_forms.items()
    )


TABLE = OperationTable()
