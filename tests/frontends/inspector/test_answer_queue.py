"""Questions of inspectors wait in lines, are answered in worker threads, and leave the engine's thread free."""

import asyncio
import gc
import threading
import time
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.frontends.inspector.answer_queue import (
    MAX_PARALLEL_QUESTIONS,
    SUPERSEDED,
    AnswerQueue,
    SessionQuestions,
)
from palimpsest.frontends.inspector.inspections import MAX_OPEN_RECORDINGS, Inspections
from palimpsest.review.prices.offline_prices import offline_price
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.view_queries import (
    AskItem,
    AskTrack,
    AskView,
    ViewAnswer,
    ViewQuery,
)
from palimpsest.session.engine import EngineThread
from palimpsest.store.log.memory_store import MemoryStore

ENGINE_CPU_SECONDS = 0.05
"""Of the engine's thread for four replays of 453 requests: it only hands them over."""


class Slow:
    """A source that answers when it may, and notes who asked at the same time."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.asked: list[ViewQuery] = []
        self.began = threading.Event()
        self.running = self.most = 0
        self._lock = threading.Lock()

    def answer(self, query: ViewQuery, _policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
        with self._lock:
            self.asked.append(query)
            self.running += 1
            self.most = max(self.most, self.running)
        self.began.set()
        self.may.wait(LAST_RESORT_SECONDS)
        with self._lock:
            self.running -= 1
        return ViewAnswer(unchanged=True)


async def test_of_the_tracks_that_wait_only_the_newest_of_each_asker_is_made() -> None:
    source = Slow()
    queue, line = AnswerQueue(), SessionQuestions(source)
    queries = [AskTrack(policy=f"p{number}") for number in range(5)]
    first = asyncio.create_task(queue.answer(line, queries[0], "page"))
    await asyncio.to_thread(source.began.wait, LAST_RESORT_SECONDS)

    waiting = [asyncio.create_task(queue.answer(line, query, "page")) for query in queries[1:]]
    other = asyncio.create_task(queue.answer(line, AskTrack(policy="theirs"), "other page"))
    view = asyncio.create_task(queue.answer(line, AskView(), "page"))
    await asyncio.sleep(0)
    source.may.set()
    answers = await asyncio.gather(first, *waiting, other, view)

    assert [answer.error for answer in answers] == [
        "",
        SUPERSEDED,
        SUPERSEDED,
        SUPERSEDED,
        "",
        "",
        "",
    ]
    assert source.asked == [queries[0], queries[4], AskTrack(policy="theirs"), AskView()]


async def test_one_question_is_answered_at_once_whatever_session_it_is_about() -> None:
    source = Slow()
    queue = AnswerQueue()
    lines = [SessionQuestions(source) for _ in range(5)]
    asked = [asyncio.create_task(queue.answer(row, AskView())) for row in [*lines, lines[0]]]
    await asyncio.to_thread(source.began.wait, LAST_RESORT_SECONDS)
    source.may.set()
    await asyncio.gather(*asked)

    assert len(source.asked) == 6
    assert source.most <= MAX_PARALLEL_QUESTIONS


async def test_what_a_damaged_log_does_to_an_answer_is_one_sentence() -> None:
    class Damaged:
        def answer(self, _query: ViewQuery, _policies: ChosenPolicies = NO_POLICIES) -> ViewAnswer:
            raise KeyError("part")

    answer = await AnswerQueue().answer(SessionQuestions(Damaged()), AskView())

    assert answer.error == "It cannot be shown: KeyError."
    assert gc.isenabled()


@pytest.mark.soak  # with each commit one question is answered at once, above; this adds a long recording and the time it takes
def test_replays_take_nothing_of_the_engines_thread(tmp_path: Path) -> None:
    """A prompt is stopped on the engine's thread, so a replay must not be there."""
    sample("pi_large_session.jsonl", tmp_path)
    engine = EngineThread()

    async def ask() -> tuple[float, list[ViewAnswer]]:
        inspections = Inspections(MemoryStore(), lambda _id: None, offline_price, tmp_path)
        where = "pi_large_session.jsonl", ""
        await inspections.answer_recording(*where, AskView())
        before = time.thread_time()
        found = [
            await inspections.answer_recording(
                *where, AskTrack(policy="sweagent.last_n", numbers={"n": number})
            )
            for number in range(1, 5)
        ]
        return time.thread_time() - before, found

    try:
        seconds, answers = engine.submit(ask()).result(LAST_RESORT_SECONDS)
    finally:
        engine.stop()

    assert [answer.error for answer in answers] == [""] * 4
    assert seconds < ENGINE_CPU_SECONDS


async def test_a_few_recordings_are_kept_and_one_that_grew_is_read_again(tmp_path: Path) -> None:
    whole = sample("marshmallow-1867.traj", tmp_path)
    names = [f"{number}.traj" for number in range(MAX_OPEN_RECORDINGS + 1)]
    for name in names:
        (tmp_path / name).write_bytes(whole.read_bytes())
    inspections = Inspections(MemoryStore(), lambda _id: None, offline_price, tmp_path)

    views = [(await inspections.answer_recording(name, "", AskView())).view for name in names]
    line = await inspections._open_recording(names[-1], is_view=True)
    same = await inspections._open_recording(names[-1], is_view=True)
    (tmp_path / names[-1]).write_bytes(whole.read_bytes() + b"\n")
    other = await inspections._open_recording(names[-1], is_view=True)
    (tmp_path / names[-1]).unlink()
    gone = await inspections.answer_recording(names[-1], "", AskView())
    text = await inspections.answer_recording(names[-1], "", AskItem(item=0, request=0))

    assert all(view is not None for view in views)
    assert line is same
    assert other is not line
    assert [recording.name for recording in inspections._recordings] == names[1:]
    # What was read before answers where the file is gone.
    assert gone.error.startswith("There is no '")
    assert text.item is not None
