"""An abort notifies every listener once."""

import threading

from palimpsest.tools.tool import Abort


def test_everyone_registered_is_told_once() -> None:
    abort, told = Abort(), []
    abort.on_abort(lambda: told.append("a"))
    forget = abort.on_abort(lambda: told.append("b"))
    forget()

    abort.set("Stopped by the user.")
    abort.set("Again.")

    assert told == ["a"]
    assert abort.reason == "Stopped by the user."


def test_who_comes_late_is_told_at_once() -> None:
    abort, told = Abort(), []
    abort.set()

    abort.on_abort(lambda: told.append("late"))

    assert told == ["late"]


def register(abort: Abort, told: list[int], number: int) -> None:
    abort.on_abort(lambda: told.append(number))


def test_nobody_is_missed_when_threads_meet() -> None:
    for _ in range(200):
        abort = Abort()
        told: list[int] = []
        thread = threading.Thread(target=abort.set)
        thread.start()
        for number in range(20):
            register(abort, told, number)
        thread.join()

        assert sorted(told) == list(range(20))
