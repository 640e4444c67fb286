"""Format the agent's todo list for ``%agent todo``.

Border: text from values; calls no model.
"""

from collections.abc import Sequence

from palimpsest.render.safety.escaping import escape_inline
from palimpsest.transcript.strings.todo_list import checklist, tally
from palimpsest.transcript.values import Todo

NO_TODOS = (
    "The agent keeps no todo list in this session yet; it writes one for work of several steps."
)


def todo_text(todos: Sequence[Todo]) -> tuple[str, str]:
    """Return the list as Markdown and as plain text."""
    if not todos:
        return escape_inline(NO_TODOS), NO_TODOS
    head = f"{tally(todos)[:1].upper()}{tally(todos)[1:]}."
    return f"{head}\n\n{''.join(map(_todo_line, todos))}", f"{head}\n{checklist(todos)}"


def _todo_line(todo: Todo) -> str:
    content = escape_inline(todo.content)
    if todo.status == "cancelled":
        return f"- ~~{content}~~ (dropped)\n"
    check = "x" if todo.status == "completed" else " "
    remark = " (in work)" if todo.status == "in_progress" else ""
    remark += " (important)" if todo.priority == "high" and todo.status != "completed" else ""
    return f"- [{check}] {content}{remark}\n"
