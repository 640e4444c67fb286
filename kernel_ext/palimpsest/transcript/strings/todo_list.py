"""Format a todo list as text: the same for the model, a terminal and a saved page."""

from collections.abc import Sequence

from palimpsest.transcript.values import Todo

STATUS_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}
EMPTY_LIST = "The todo list is empty."


def checklist(todos: Sequence[Todo]) -> str:
    """Return the list, one line an item: ``[x] Load the data``."""
    if not todos:
        return EMPTY_LIST
    return "\n".join(_line(todo) for todo in todos)


def tally(todos: Sequence[Todo]) -> str:
    """Return the progress of the list: ``2 of 5 done``; cancelled items do not count."""
    open_or_done = [todo for todo in todos if todo.status != "cancelled"]
    if not open_or_done:
        return "nothing to do"
    done_count = sum(todo.status == "completed" for todo in open_or_done)
    return f"{done_count} of {len(open_or_done)} done"


def _line(todo: Todo) -> str:
    first = f"{STATUS_MARKS[todo.status]} {todo.content}"
    return f"{first} (high priority)" if todo.priority == "high" else first
