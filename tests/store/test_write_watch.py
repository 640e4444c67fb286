"""A write that does not return is reported by another thread than the blocked one."""

import threading
from collections.abc import Callable

from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.store.disk import STALL_SECONDS, Stall, WriteWatch


def stalled(watch: WriteWatch, told: Callable[[], None]) -> Stall:
    stall = Stall(lambda: "ses_1", watch)
    stall.on_change(told)
    return stall


def test_a_person_is_told_within_a_second() -> None:
    assert STALL_SECONDS < 1


def test_a_write_that_hangs_is_told_and_its_end_too() -> None:
    changed = threading.Event()
    stall = stalled(WriteWatch(0.01), changed.set)

    with stall.watching():
        assert changed.wait(LAST_RESORT_SECONDS)
        assert "The disk does not answer" in stall.sentence
        assert "'ses_1'" in stall.sentence
        changed.clear()

    assert (changed.is_set(), stall.sentence) == (True, "")


def test_a_listener_that_hangs_is_told_as_what_it_is() -> None:
    changed = threading.Event()
    stall = stalled(WriteWatch(0.01), changed.set)

    with stall.watching():
        stall.is_calling_subscribers = True
        assert changed.wait(LAST_RESORT_SECONDS)
        assert "What listens to session" in stall.sentence


def test_a_write_that_returns_is_told_to_nobody() -> None:
    told: list[None] = []
    watch = WriteWatch(3_600)
    stall = stalled(watch, lambda: told.append(None))
    for _ in range(100):
        with stall.watching():
            pass

    assert (told, stall.sentence, watch._running_writes) == ([], "", {})


def test_what_comes_after_a_write_that_hangs_is_watched_too() -> None:
    watch = WriteWatch(0.01)
    for _ in range(3):
        changed = threading.Event()
        with stalled(watch, changed.set).watching():
            assert changed.wait(LAST_RESORT_SECONDS)
