"""Find a cell's recorded answer among a session's turns, or the reason why there is none.

A recorded answer applies while its cell's prompt is the same and the conversation before it too: it was sent after
every turn that this run of the notebook has reached so far.

Border: pure; reads messages, sends and runs nothing.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.interfaces.recorded_answers import CellPrompt, RecordedTurn, Unanswered
from palimpsest.session.prompts.answers import collect_answer, tool_switches
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, TextPart

COMPACT_COMMAND = "%agent compact"


def answer_of(turn: RecordedTurn) -> Answer:
    """Return the answer of a turn, as the prompt returned it."""
    return collect_answer(turn.session_id, (turn.user_message, *turn.messages), turn.id, None)


def is_same(prompt: CellPrompt, turn: RecordedTurn) -> bool:
    """Return whether a turn's prompt had the same text, model, agent and tools as ``prompt``."""
    info, options = turn.info, prompt.options
    if prompt.text.startswith(COMPACT_COMMAND):
        return turn.prompt == prompt.text  # its options concern only the summary
    return (
        turn.prompt.strip() == prompt.text.strip()
        and (options.model is None or f"/{info.model.id}".endswith(f"/{options.model}"))
        and (options.variant is None or options.variant == info.model.variant)
        and (options.agent is None or options.agent == info.agent)
        and options.system == info.system
        and tool_switches(options.tools) == info.tools
        and options.max_steps == info.max_steps
    )


MAX_LOOP_MS = 300
"""Maximum milliseconds from an answer to the next prompt of the same cell and execution number in one run's loop."""


def recorded_turns(session_id: str, messages: Messages) -> tuple[RecordedTurn, ...]:
    """Return the turns of a session that cells began, oldest first."""
    return tuple(_cell_turns(session_id, messages))


def find_recorded(
    turns: Sequence[RecordedTurn], prompt: CellPrompt, reached_turn_ms: int
) -> RecordedTurn | Unanswered:
    """Return the turn whose answer applies to a prompt, or why none does.

    ``reached_turn_ms`` is the time at which the newest turn that this run of the notebook has reached in the session was
    sent, in milliseconds since 1970; 0 before the first.
    """
    cell_turns = [
        turn for turn in turns if prompt.cell_id is not None and turn.cell_id == prompt.cell_id
    ]
    # Scripts have no cell ids, and notebooks of old formats get new cell ids each time they are opened.
    same_turns = [turn for turn in cell_turns or turns if is_same(prompt, turn)]
    if not same_turns:
        return "changed" if cell_turns else "new"
    finished_turns = [turn for turn in same_turns if is_answered(turn)]
    if not finished_turns:
        return "unfinished"
    last_run_by_cell_id = {
        turn.cell_id: _last_run(finished_turns, turn.cell_id) for turn in finished_turns
    }
    later_turns = sorted(
        (
            turn
            for run in last_run_by_cell_id.values()
            for turn in run
            if turn.asked_ms > reached_turn_ms
        ),
        key=attrgetter("asked_ms"),
    )
    return later_turns[0] if later_turns else "moved"


def _last_run(turns: Sequence[RecordedTurn], cell_id: str | None) -> list[RecordedTurn]:
    """Return the turns that a cell's last run sent: one, or several where the cell has a loop.

    The answers of the cell's earlier runs do not apply.
    """
    cell_turns = [turn for turn in turns if turn.cell_id == cell_id]
    last_run = cell_turns[-1:]
    for turn in reversed(cell_turns[:-1]):
        count, pause_ms = _execution_count(turn), last_run[0].asked_ms - _end_time_ms(turn)
        if count is None or count != _execution_count(last_run[0]) or pause_ms > MAX_LOOP_MS:
            break
        last_run.insert(0, turn)
    return last_run


def _execution_count(turn: RecordedTurn) -> int | None:
    return turn.info.origin.execution_count if turn.info.origin is not None else None


def _end_time_ms(turn: RecordedTurn) -> int:
    end_times_ms = [
        message.info.time.completed or message.info.time.created for message in turn.messages
    ]
    return max(end_times_ms, default=turn.asked_ms)


def is_answered(turn: RecordedTurn) -> bool:
    """Return whether the provider ended a turn's answer normally."""
    return answer_of(turn).stopped_by == "finished"


def _cell_turns(session_id: str, messages: Messages) -> Iterator[RecordedTurn]:
    turn_start: tuple[Message, UserMessage, str] | None = None
    messages_of_turn: list[Message] = []
    for message in messages:
        info = message.info
        prompt = prompt_of(message)
        if not isinstance(info, UserMessage) or info.by_engine or info.joins or prompt is None:
            messages_of_turn.append(message)
            continue
        if turn_start is not None:
            yield RecordedTurn(session_id, *turn_start, tuple(messages_of_turn))
        is_from_cell = info.origin is not None and info.origin.kind == "cell"
        turn_start, messages_of_turn = ((message, info, prompt) if is_from_cell else None), []
    if turn_start is not None:
        yield RecordedTurn(session_id, *turn_start, tuple(messages_of_turn))


def compaction_prompt(focus: str | None) -> str:
    """Return the text that is used as the prompt of ``%agent compact``."""
    return f"{COMPACT_COMMAND} focus on {focus}" if focus else COMPACT_COMMAND


def prompt_of(message: Message) -> str | None:
    """Return the prompt that the user sent with a message; None for a message that the engine caused."""
    for part in message.parts:
        if isinstance(part, TextPart) and not part.synthetic:
            return part.text
        if isinstance(part, CompactionPart) and not part.auto:
            return compaction_prompt(part.focus)
    return None
