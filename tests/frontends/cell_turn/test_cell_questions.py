"""A prompt that an answer elsewhere closes while a person types leaves nothing behind that would end the next one."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.frontends.cell_turn import cell_questions
from palimpsest.frontends.cell_turn.cell_questions import Questions
from palimpsest.frontends.kernel.interrupts import Interrupts


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    before = signal.getsignal(signal.SIGINT)
    made = Interrupts(lambda: loop)
    hold = made.install(lambda: None)
    assert hold is not None
    yield made
    hold.restore_handler()
    made.close()
    signal.signal(signal.SIGINT, before)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_the_signal_of_a_closed_prompt_does_not_end_the_next_one(
    interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: Any = SimpleNamespace(
        run=None, main_thread=SimpleNamespace(interrupts=interrupts), pages=None
    )
    asks = [SimpleNamespace(id="ask_1"), SimpleNamespace(id="ask_2")]
    session: Any = SimpleNamespace(
        snapshot=lambda: SimpleNamespace(asks=asks, questions=[]), held=()
    )
    questions = Questions(parts, lambda _sentence: None)
    send_now = interrupts.interrupt_main
    # The thread that closes the prompt is held up just before it sends the signal.
    monkeypatch.setattr(
        interrupts, "interrupt_main", lambda: threading.Timer(0.03, send_now).start()
    )

    def typed_line(text: str) -> str:
        if text == "First?":
            closing = threading.Thread(target=questions._close_prompt, args=("ask_1",))
            closing.start()
            closing.join()
        else:
            threading.Event().wait(0.2)
        return text

    monkeypatch.setattr(cell_questions, "typed_line", typed_line)
    answers = []
    for ask, text in zip(asks, ("First?", "Second?"), strict=True):
        questions.begin(None)
        answers.append(questions.read_line(ask.id, text, session))

    assert answers == ["First?", "Second?"]
    assert not questions.has_ended
