"""The todowrite tool: replace the session's todo list, which the model and the user see.

Border: replaces the complete list through ``TodoList``; the session journals it. A complete list each
time needs no ids and cannot differ from the model's last list.
"""

from typing import Literal, Protocol

from pydantic import BaseModel, Field

from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.todo_list import checklist, tally
from palimpsest.transcript.values import Todo

TODOWRITE_NAME = "todowrite"
MAX_ITEMS = 100
MAX_ITEM_CHARS = 500


class TodoList(Protocol):
    """The todo list of a session.

    Contract: ``replace`` journals the list and notifies all views.
    """

    def replace(self, todos: tuple[Todo, ...]) -> None:
        """Replace the whole list."""


class TodoItem(BaseModel):
    """One item of the list."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class TodoArguments(BaseModel):
    """Input of the todowrite tool."""

    todos: list[TodoItem] = Field(
        description="The whole list, in order; it replaces the one before."
    )


class TodoWriteTool:
    """The todowrite tool, which replaces the todo list."""

    name = TODOWRITE_NAME
    description = (
        "Write the whole list of what is to do in this session; the user watches it. Use it for work of three "
        "steps and more: one item in_progress at a time, completed as soon as it is done. Returns the list."
    )
    arguments: type[BaseModel] = TodoArguments
    concurrent = False
    permission = TODOWRITE_NAME

    async def run(self, arguments: TodoArguments, context: ToolContext) -> ToolOutcome:
        """Replace the list and return it."""
        todo_list: TodoList | None = context.extra_values.get("todos")
        if todo_list is None:
            raise UserError("This session keeps no todo list.")
        if len(arguments.todos) > MAX_ITEMS:
            raise UserError(f"The list has more than {MAX_ITEMS} items. Put some together.")
        todos = tuple(
            Todo(content=" ".join(item.content.split()), status=item.status, priority=item.priority)
            for item in arguments.todos
        )
        if not all(0 < len(todo.content) <= MAX_ITEM_CHARS for todo in todos):
            raise UserError(
                f"Each item of the list says in 1 to {MAX_ITEM_CHARS} characters what is to do."
            )
        title = tally(todos)
        await context.ask(self.permission, ["*"], title=f"Todo list: {title}", always=["*"])
        todo_list.replace(todos)
        values = [todo.model_dump(mode="json") for todo in todos]
        return ToolOutcome(title, checklist(todos), {"todos": values})
