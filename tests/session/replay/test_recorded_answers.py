"""Recorded answers of a compacted session are read from its log once, and what is reverted is none."""

from types import SimpleNamespace
from typing import Any

from tests.session.replay.test_recorded_turns import SESSION, prompt, reply

from palimpsest.session.interfaces.prompt_answer import PromptOptions
from palimpsest.session.interfaces.recorded_answers import CellPrompt, FoundAnswer
from palimpsest.session.replay.recorded_answers import RecordedAnswers
from palimpsest.transcript.messages import Message

OLD = (prompt(1, "Add.", "a"), reply(2), prompt(3, "Mean?", "b"), reply(4))
NEW = (prompt(5, "Max?", "c"), reply(6))


def state(
    messages: tuple[Message, ...], *, partial: bool = False, revert: str | None = None
) -> Any:
    session = SimpleNamespace(revert={"message_id": revert} if revert else None)
    return SimpleNamespace(messages=lambda: messages, is_partial=partial, session=session)


class Log:
    """A session whose whole log is read from a store, and whose live window a kernel holds."""

    def __init__(self, whole: tuple[Message, ...], held: Any) -> None:
        self.whole = whole
        self.held = held
        self.loads = 0
        services = SimpleNamespace(
            store=SimpleNamespace(load=self._load, list=list), cwd=None, root=None
        )
        self.answers = RecordedAnswers(services, self._settled, self._held)  # type: ignore[arg-type]  # what is used of them

    def _load(self, _id: str) -> Any:
        self.loads += 1
        return state(self.whole, revert=None)

    def _held(self, _id: str) -> Any:
        return self.held

    async def _settled(self, session_id: str) -> str:
        return session_id

    async def find(self, text: str, cell: str, reached: int = 0) -> str:
        given = CellPrompt(text, PromptOptions(), cell)
        answer: FoundAnswer = await self.answers.find_answer(
            given,
            None,
            current=SESSION,
            sends_anew=False,
            only_this=True,
            reached_turns={SESSION: reached},
            began_ms=99,
        )
        return answer.turn.id if answer.turn is not None else answer.unanswered_reason


async def test_a_session_that_a_kernel_holds_whole_is_not_read_from_its_log() -> None:
    log = Log((), state((*OLD, *NEW)))

    assert [await log.find("Add.", "a"), await log.find("Max?", "c", 1)] == ["msg_1", "msg_5"]
    assert log.loads == 0


async def test_what_a_summary_covers_is_read_once_and_what_is_new_is_seen() -> None:
    log = Log((*OLD, *NEW), state(NEW, partial=True))

    assert [await log.find("Add.", "a"), await log.find("Mean?", "b", 1)] == ["msg_1", "msg_3"]
    log.held = state((*NEW, prompt(7, "Add.", "a"), reply(8)), partial=True)
    assert await log.find("Add.", "a", 5) == "msg_7"
    assert log.loads == 1


async def test_what_is_reverted_in_whole_or_in_part_is_no_answer() -> None:
    for partial in (False, True):
        for first, found in (("msg_3", "new"), ("msg_4", "new"), ("msg_5", "msg_3")):
            held = state(NEW if partial else (*OLD, *NEW), partial=partial, revert=first)
            log = Log((*OLD, *NEW), held)
            assert await log.find("Mean?", "b", 1) == found


async def test_what_a_revert_removed_for_good_is_forgotten() -> None:
    log = Log((*OLD, *NEW), state(NEW, partial=True, revert="msg_3"))
    assert await log.find("Mean?", "b", 1) == "new"

    log.whole, log.held = OLD[:2], state((), partial=True)

    assert [await log.find("Mean?", "b", 1), await log.find("Add.", "a")] == ["new", "msg_1"]
