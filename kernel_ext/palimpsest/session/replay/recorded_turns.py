"""Find a cell's recorded answer among a session's turns, or the reason why there is none.

A recorded answer holds while its cell's prompt and its starting point are unchanged: every turn that the
notebook has reached so far was already in the conversation when the prompt was asked.

Border: pure; reads messages, sends and runs nothing.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.interfaces.recorded_answers import CellPrompt, RecordedTurn, Unanswered
from palimpsest.session.prompts.answers import collect_answer, tool_switches
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, TextPart

COMPACT = "%agent compact"


def answer_of(turn: RecordedTurn) -> Answer:
    """Return what a turn answered, as it was returned when it was asked."""
    return collect_answer(turn.session_id, (turn.begun, *turn.messages), turn.id, None)


def is_same(prompt: CellPrompt, turn: RecordedTurn) -> bool:
    """Return whether a turn was asked with a prompt's words and choice of model, agent and tools."""
    info, options = turn.info, prompt.options
    if prompt.text.startswith(COMPACT):
        return turn.prompt == prompt.text  # its options are about the summary alone
    return (
        turn.prompt.strip() == prompt.text.strip()
        and (options.model is None or _names(options.model, info.model.id))
        and (options.variant is None or options.variant == info.model.variant)
        and (options.agent is None or options.agent == info.agent)
        and options.system == info.system
        and tool_switches(options.tools) == info.tools
        and options.max_steps == info.max_steps
    )


LOOP_MS = 300
"""A cell that asks again sooner after an answer, under the same number, is still the same run of it."""


def recorded_turns(session_id: str, messages: Messages) -> tuple[RecordedTurn, ...]:
    """Return the turns of a session that cells asked for, oldest first."""
    return tuple(_turns(session_id, messages))


def find_recorded(
    turns: Sequence[RecordedTurn], prompt: CellPrompt, reached: int
) -> RecordedTurn | Unanswered:
    """Return the turn whose answer holds for a prompt, or why none does.

    ``reached`` is when the newest turn was asked that this run of the notebook has reached in the session;
    0 before the first.
    """
    own = [one for one in turns if prompt.cell_id is not None and one.cell_id == prompt.cell_id]
    # Programs name no cells, and notebooks of old formats give them new names each time they are opened.
    among = own or turns
    same = [one for one in among if is_same(prompt, one)]
    if not same:
        return "changed" if own else "new"
    finished = [one for one in same if is_answered(one)]
    if not finished:
        return "unfinished"
    newest = {one.cell_id: _last_run(finished, one.cell_id) for one in finished}
    ahead = sorted(
        (one for run in newest.values() for one in run if one.asked > reached),
        key=attrgetter("asked"),
    )
    return ahead[0] if ahead else "moved"


def _last_run(turns: Sequence[RecordedTurn], cell_id: str | None) -> list[RecordedTurn]:
    """Return what a cell asked when it ran last: one turn, or those of a loop in it. Its earlier answers are past."""
    own = [one for one in turns if one.cell_id == cell_id]
    found = own[-1:]
    for one in reversed(own[:-1]):
        count = one.info.origin.execution_count if one.info.origin is not None else None
        next_count = (
            found[0].info.origin.execution_count if found[0].info.origin is not None else None
        )
        if count is None or count != next_count or found[0].asked - _ended(one) > LOOP_MS:
            break
        found.insert(0, one)
    return found


def _ended(turn: RecordedTurn) -> int:
    ends = [one.info.time.completed or one.info.time.created for one in turn.messages]
    return max(ends, default=turn.asked)


def is_answered(turn: RecordedTurn) -> bool:
    """Return whether a turn ended as the provider ends an answer."""
    return answer_of(turn).stopped_by == "finished"


def _turns(session_id: str, messages: Messages) -> Iterator[RecordedTurn]:
    begun: tuple[Message, UserMessage, str] | None = None
    found: list[Message] = []
    for message in messages:
        info = message.info
        words = prompt_of(message)
        if not isinstance(info, UserMessage) or info.by_engine or info.joins or words is None:
            found.append(message)
            continue
        if begun is not None:
            yield RecordedTurn(session_id, *begun, tuple(found))
        from_cell = info.origin is not None and info.origin.kind == "cell"
        begun, found = ((message, info, words) if from_cell else None), []
    if begun is not None:
        yield RecordedTurn(session_id, *begun, tuple(found))


def compaction_prompt(focus: str | None) -> str:
    """Return the text that stands for the prompt of ``%agent compact``."""
    return f"{COMPACT} focus on {focus}" if focus else COMPACT


def prompt_of(message: Message) -> str | None:
    """Return what a person asked with a message; None for a message that the engine caused."""
    for part in message.parts:
        if isinstance(part, TextPart) and not part.synthetic:
            return part.text
        if isinstance(part, CompactionPart) and not part.auto:
            return compaction_prompt(part.focus)
    return None


def _names(given: str, known: str) -> bool:
    return given == known or known.endswith(f"/{given}")
