"""Turn the user's edit of the context into decisions, and journal them between two requests.

Border: runs on the engine's loop, where a request is built and recorded without interruption, so that no
decision falls between what a request contains and the record of it.
"""

from collections.abc import Callable

from palimpsest.context.budget.request_tokens import Count, message_tokens
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.session.controls.context_edits import (
    ContextEdit,
    ContextEditAction,
    ContextEditor,
    needs_full_transcript,
)
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.session_record.events import DecisionMade
from palimpsest.transcript.values import ModelRef

NO_MODEL = ModelRef(provider="", name="")


def journal_context_edit(
    journal: Journal,
    new_id: Callable[[], str],
    count: Count,
    action: ContextEditAction,
    target_name: str,
) -> ContextEdit | None:
    """Make a context edit and journal its decisions; None when the whole session has to be loaded for it first.

    ``target_name`` is the id of a part or message, a piece of the id, ``last`` or ``summary``. Raises UserError when the
    edit cannot be made.
    """
    messages, decisions, is_partial, model = journal.read_state(_state_for_edit)

    def count_tokens(counted_messages: Messages) -> int:
        request_messages = neutral_messages(counted_messages, model)
        return sum(message_tokens(message, count) for message in request_messages)

    if is_partial and needs_full_transcript(messages, action, target_name):
        return None
    editor = ContextEditor(messages, decisions, new_id, count_tokens)
    edit = editor.edit_context(action, target_name)
    if edit.decisions:
        journal.append(*(DecisionMade(decision=decision) for decision in edit.decisions), sync=True)
    return edit


def _state_for_edit(state: State) -> tuple[Messages, tuple[Decision, ...], bool, ModelRef]:
    session = state.session
    model = session.model if session is not None and session.model is not None else NO_MODEL
    return state.messages(), state.decisions, state.is_partial, model
