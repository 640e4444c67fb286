"""Carry out a line of ``%agent`` without a kernel, and return what a cell would show."""

from typing import Any

from palimpsest.frontends.magic.line_parser import parse_line
from palimpsest.frontends.operation_base.operation import Operation, OperationContext
from palimpsest.frontends.operation_text.command_output import CommandOutput, joined_output


def desk(session: Any = None, services: Any = None) -> OperationContext:
    """Return where an operation of a cell is asked for."""

    async def find(_identifier: str | None) -> Any:
        return session

    return OperationContext(services, find, in_cell=True)


async def said(line: str, session: Any = None, services: Any = None) -> CommandOutput:
    """Carry it out and return the output."""
    operation = parse_line(line)
    assert isinstance(operation, Operation)
    answer = await operation.run(desk(session, services))
    return joined_output(operation.output(answer))
