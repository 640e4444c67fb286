"""A question waits for a page that answers pings, and not longer than that."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.harness.session import SessionHarness, ask, until
from tests.sample_size import sampled_cases
from tests.waiting import eventually

from palimpsest.frontends.page_channel import page_presence
from palimpsest.frontends.page_channel.page_presence import (
    MAX_REMEMBERED_SECONDS,
    MAX_SILENT_SECONDS,
    PagePresence,
)
from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.unattended_refusal import CHECK_SECONDS, refuse_unattended
from palimpsest.testing import ScriptedModel

ONE = "calls('python', code='x = 6 * 7').says('')"
AS_BEFORE = f"presence.MAX_SILENT_SECONDS, presence.MAX_ANSWER_SECONDS = {MAX_SILENT_SECONDS}, {page_presence.MAX_ANSWER_SECONDS}"
QUESTION = calls("question", questions=[{"question": "Which one?", "options": []}])


class Page:
    """A fake clock, a count of pings, and whether a page without pings watches."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pings = 0
        self.fresh = False
        self.presence = PagePresence(lambda _: self.fresh, self._pinged, lambda: self.now)

    def _pinged(self) -> None:
        self.pings += 1

    def after(self, seconds: float) -> bool:
        self.now += seconds
        return self.presence.may_answer("ses_1")


def test_a_page_that_was_just_heard_is_there_and_is_not_pinged() -> None:
    page = Page()
    page.presence.record_message("a", None)

    assert (page.after(MAX_SILENT_SECONDS - 1), page.pings) == (True, 0)


def test_a_page_that_does_not_answer_a_ping_is_gone_after_five_seconds() -> None:
    page = Page()
    page.presence.record_message("a", None)

    assert (page.after(10), page.pings) == (True, 1)
    assert (page.after(4), page.pings) == (True, 1)
    assert (page.after(2), page.pings) == (False, 2)
    page.presence.record_message("a", None)
    assert page.after(0)


def test_a_page_that_says_goodbye_or_looks_at_another_session_is_not_there() -> None:
    page = Page()
    page.presence.record_message("a", "ses_2")
    assert not page.after(0)

    page.presence.record_message("b", "ses_1")
    assert page.after(0)
    page.presence.record_leave("b")
    assert not page.after(0)


def test_a_page_that_was_not_heard_for_long_is_pinged_no_more() -> None:
    page = Page()
    page.presence.record_message("a", None)

    assert (page.after(MAX_REMEMBERED_SECONDS + 1), page.pings) == (False, 0)


def test_of_a_page_that_knows_no_pings_the_watch_counts() -> None:
    page = Page()
    page.fresh = True

    assert (page.after(15), page.pings) == (True, 0)


@pytest.mark.soak  # with each commit a dead page does not hold a cell up, below; this adds a page that was there first
@pytest.mark.parametrize(
    "asks",
    sampled_cases(
        {"permission": calls("write", path="a.txt", content="x"), "question": QUESTION},
        "permission",
    ),
)
async def test_who_went_away_is_waited_for_and_then_the_answer_is_a_recorded_no(
    tmp_path: Path, asks: object
) -> None:
    session = await SessionHarness(tmp_path, ScriptedModel(asks, says("Without it."))).session()
    here, looks = True, 0

    def attended() -> bool:
        nonlocal looks
        looks += 1
        return here

    refusing = asyncio.ensure_future(refuse_unattended(session, attended, 0.6))
    asking = asyncio.ensure_future(ask(session, "go"))
    await until(lambda: session.snapshot().asks or session.snapshot().questions)
    await until(lambda: looks > 0.6 / CHECK_SECONDS)
    assert not asking.done()

    here = False
    answer = await asking
    refusing.cancel()
    assert (answer.text, answer.stopped_by) == ("Without it.", "finished")
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.slow
class TestInAKernel:
    """In a kernel, with a client that behaves like a page."""

    def test_a_dead_page_does_not_hold_a_cell_up(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('Without it.')")
        kernel.run(f"import {page_presence.__name__} as presence")
        kernel.run("presence.MAX_SILENT_SECONDS = presence.MAX_ANSWER_SECONDS = 1")
        kernel.request(type="watch", client="dead", pings=True)

        run_id = kernel.send("answer = %agent --new hi")
        kernel.wait(lambda m: m["content"].get("kind") == "ping")
        run = kernel.finish(run_id)

        assert "Without it." in run.markdown()
        assert "nobody was there to ask" in run.markdown()
        kernel.run(AS_BEFORE)

    def test_a_page_that_answers_pings_is_waited_for(self, kernel: Kernel) -> None:
        kernel.script(ONE, "says('Done.')")
        # This test answers within a second, except on a machine that has more to do than it can.
        kernel.run(f"import {page_presence.__name__} as presence; presence.MAX_ANSWER_SECONDS = 60")
        kernel.run("presence.MAX_SILENT_SECONDS = 1")
        kernel.request(type="watch", client="alive", pings=True)

        run_id = kernel.send("answer = %agent --new hi")
        for _ in range(2):
            since = len(kernel.iopub)
            kernel.wait(lambda m: m["content"].get("kind") == "ping", since=since)
            kernel.request(type="watch", client="alive", pings=True)
        ask = kernel.request(type="hello", protocol=1)["session"]["asks"][0]
        kernel.request(type="reply", ask_id=ask["id"], answer="once")
        kernel.request(type="unwatch", client="alive")

        assert "Done." in kernel.finish(run_id).markdown()
        kernel.run(AS_BEFORE)

    @pytest.mark.soak  # with each commit tests/frontends/typed_input/test_script.py waits for nobody; this adds a turn behind a cell
    @pytest.mark.parametrize("asks", [ONE, "calls('question', questions=[{'question': 'Which?'}])"])
    def test_a_background_turn_of_a_cell_without_input_waits_for_nobody(
        self, kernel: Kernel, asks: str
    ) -> None:
        kernel.script(asks, "says('Without it.')")
        assert kernel.run("handle = %agent --bg --new hi").status == "ok"

        eventually(lambda: kernel.value("handle.done") == "True")
        assert kernel.value("handle.answer.text") == "'Without it.'"
