"""Number the cells that run inside another running cell, which keeps its own number.

Border: the shell's counter and ipykernel's replies. IPython counts a cell when it begins, and ipykernel reads the
counter again for the cell's reply; so a cell that contains others would get the number of the last one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class NestedNumbers:
    """Gives inner cells the numbers after the outer one; restores the counter with the outer cell's reply."""

    def __init__(self, running_cell_count: Callable[[], int]) -> None:
        self._running_cell_count = running_cell_count
        self._outer_request = ""
        self._next_number = 0

    def has_running_cell(self) -> bool:
        """Return whether a cell runs, so that another one would be an inner one."""
        return self._running_cell_count() > 0

    @contextmanager
    def apart(self, kernel: Any) -> Iterator[None]:
        """Within the block, number an inner cell of the running one."""
        shell = kernel.shell
        outer_count = shell.execution_count
        outer_request = _request_id(kernel.get_parent("shell"))
        if outer_request != self._outer_request:
            self._outer_request, self._next_number = outer_request, outer_count
            self._await_reply(kernel, outer_request)
        shell.execution_count = max(self._next_number, outer_count)
        try:
            yield
        finally:
            self._next_number = shell.execution_count
            shell.execution_count = outer_count

    def _await_reply(self, kernel: Any, outer_request: str) -> None:
        """Continue the count behind the inner cells once the outer cell's reply is made."""
        finish_metadata = kernel.finish_metadata

        def finish_and_count(parent: Any, metadata: Any, reply_content: Any) -> Any:
            if _request_id(parent) == outer_request:
                vars(kernel).pop("finish_metadata", None)
                kernel.shell.execution_count = max(kernel.shell.execution_count, self._next_number)
                self._outer_request = ""
            return finish_metadata(parent, metadata, reply_content)

        kernel.finish_metadata = finish_and_count


def _request_id(message: Any) -> str:
    return str((message or {}).get("header", {}).get("msg_id", ""))
