"""A held request is let go, changed or stopped at the cell or from a page, and sent where nobody is."""

from collections.abc import Iterator

import pytest
from tests.harness.kernel import Kernel, Message

pytestmark = pytest.mark.slow

SUMMARISED = (
    "says('It is in data/rows.csv, and load_rows reads it. ' * 120)",
    "says('Two.'), says('Three.')",
    "says('## Goal\\n- know the rows\\n' + '- none\\n' * 60)",
)
ANOTHER = "says('## Goal\\n- load_rows reads data/rows.csv\\n' + '- none\\n' * 60)"


@pytest.fixture
def stepping(kernel: Kernel) -> Iterator[Kernel]:
    """A kernel whose session is new and in step mode."""
    kernel.script("says('hello')")
    kernel.run("%agent --new --yes hi")
    assert "is on" in kernel.run("%agent step on").markdown()
    yield kernel
    kernel.run("%agent step off")


def test_a_request_is_asked_about_at_the_cell_and_sent(stepping: Kernel) -> None:
    stepping.script("says('Sent now.')")
    run_id = stepping.send("%%agent\nGo on.", stdin=True)

    text = stepping.question()
    assert "Request 2 is held:" in text
    assert "of unknown price" in text
    assert "Go on." in text
    assert "prune.protect_tokens=10000" in text
    stepping.answer("1")
    run = stepping.finish(run_id)

    assert run.status == "ok"
    assert "Sent now." in run.markdown()


def test_what_is_typed_changes_it_first(stepping: Kernel) -> None:
    stepping.script("says('Sent now.')")
    run_id = stepping.send("%%agent\nGo on.", stdin=True)
    stepping.question()

    stepping.answer("perhaps")
    assert "Please answer 1 or send" in stepping.question()
    stepping.answer("prune.protect_tokens=1234")
    assert "prune.protect_tokens=1234" in stepping.question()
    stepping.answer("prune.protect_tokens=many")
    assert "whole number" in stepping.question()
    stepping.answer("items")
    assert "system" in stepping.question()
    stepping.answer("send")
    run = stepping.finish(run_id)

    assert "Sent now." in run.markdown()
    assert "1,234" in stepping.run("%agent policy").markdown()


SLOW_END = """
import threading
from palimpsest.session.controls.step_mode import StepMode
remove_now = StepMode.remove
def remove_later(step_mode, request):
    threading.Event().wait(0.3)
    remove_now(step_mode, request)
StepMode.remove = remove_later
"""


def test_stop_sends_nothing_and_asks_nothing_again(stepping: Kernel) -> None:
    stepping.script("says('never')")
    # On a loaded machine, the engine notices a stop later than the cell looks for open questions.
    stepping.run(SLOW_END)
    run_id = stepping.send("%%agent\nGo on.", stdin=True)
    stepping.question()
    stepping.answer("3")
    run = stepping.finish(run_id)
    stepping.run("StepMode.remove = remove_now")

    assert run.status == "error"
    assert stepping.requests() == "[]"
    with pytest.raises(TimeoutError):
        stepping.question(timeout=0.01)


def test_the_stop_button_ends_a_held_turn(stepping: Kernel) -> None:
    stepping.script("says('never')")
    run_id = stepping.send("%%agent\nGo on.", stdin=True)
    stepping.question()
    stepping.interrupt()
    run = stepping.finish(run_id)

    assert run.status == "error"
    assert stepping.requests() == "[]"


def test_without_anybody_it_is_sent_and_said_once(stepping: Kernel) -> None:
    stepping.script("says('Sent one.')", "says('Sent two.')")
    first = stepping.run("%%agent\nGo on.")
    second = stepping.run("%%agent\nGo on.")

    assert "Sent one." in first.markdown()
    assert "nobody is here to let a request go" in first.stream("stderr")
    assert "Sent two." in second.markdown()
    assert second.stream("stderr") == ""


def held_by(kernel: Kernel, since: int, purpose: str = "step") -> Message:
    """Wait until a page hears of a held request of a purpose, and return it."""

    def held(message: Message) -> bool:
        found = message["content"].get("session", {}).get("held")
        return bool(found) and found[0]["purpose"] == purpose

    message = kernel.wait(
        lambda m: (
            m["header"]["msg_type"] == "palimpsest_notice"
            and m["content"].get("kind") == "current"
            and held(m)
        ),
        since=since,
    )
    one: Message = message["content"]["session"]["held"][0]
    return one


def test_a_page_hears_of_it_and_lets_it_go(stepping: Kernel) -> None:
    stepping.request(type="watch", client="page")
    try:
        stepping.script("says('Sent now.')")
        mark = len(stepping.iopub)
        run_id = stepping.send("%%agent\nGo on.")
        held = held_by(stepping, mark)
        assert held["number"] == 2
        assert held["numbers"][0]["name"] == "prune.protect_tokens"
        mark = len(stepping.iopub)
        stepping.request(type="policy", words=["prune.protect_tokens=4321"])
        changed = held_by(stepping, mark)
        assert changed["id"] == held["id"]
        assert changed["numbers"][0]["value"] == 4321

        stepping.request(type="release", hold=held["id"])
        run = stepping.finish(run_id)

        assert "Sent now." in run.markdown()
    finally:
        stepping.request(type="unwatch", client="page")


def test_a_stop_from_a_page_ends_it(stepping: Kernel) -> None:
    stepping.request(type="watch", client="page")
    try:
        stepping.script("says('never')")
        mark = len(stepping.iopub)
        run_id = stepping.send("%%agent\nGo on.")
        held_by(stepping, mark)
        stepping.request(type="cancel")
        run = stepping.finish(run_id)

        assert run.status == "error"
        assert stepping.requests() == "[]"
    finally:
        stepping.request(type="unwatch", client="page")


def test_a_request_in_the_background_is_shown_and_sent_by_a_command(stepping: Kernel) -> None:
    stepping.script("says('Sent now.')")
    stepping.run("handle = %agent --bg Go on.", stdin=True)
    text = ""
    while "Request 2 is held" not in text:
        text = stepping.run("%agent step status", stdin=True).markdown()

    assert "%agent step send" in text
    assert "Sent." in stepping.run("%agent step send", stdin=True).markdown()
    assert "Sent now." in stepping.run("%agent wait", stdin=True).markdown()


def test_it_can_be_switched_by_a_page(kernel: Kernel) -> None:
    kernel.script("says('hello')")
    kernel.run("%agent --new --yes hi")
    kernel.request(type="step", on=True)
    text = ""
    while "is on" not in text:
        text = kernel.run("%agent step").markdown()
    kernel.request(type="step", on=False)
    while "is off" not in text:
        text = kernel.run("%agent step").markdown()


def with_new_summary(stepping: Kernel, *then: str) -> None:
    """Put the session before a request that would be the first to use a summary."""
    stepping.run("%agent step off")
    stepping.script(*SUMMARISED, *then)
    stepping.run("%agent Where is it?")
    stepping.run("%agent And now?")
    stepping.run("%agent And then?")
    compacted = stepping.run("%agent compact")
    assert compacted.status == "ok", compacted.reply["content"]["evalue"]
    stepping.run("%agent step on")


def test_another_summary_is_asked_for_at_the_cell(stepping: Kernel) -> None:
    with_new_summary(stepping, ANOTHER, "says('Sent now.')")
    run_id = stepping.send("%%agent\nGo on.", stdin=True)
    text = stepping.question()
    assert "It would be the first to use a new summary" in text
    assert "another asks for another summary" in text

    stepping.answer("another")
    asked = stepping.question()
    assert "for a summary is held" in asked
    assert "The summary that you put aside for it:" in asked
    stepping.answer("another")
    assert "not the first to use a new summary" in stepping.question()
    stepping.answer("send")
    graded = stepping.question()
    assert "It would be the first to use a new summary" in graded
    assert "The summary that you put aside for it:" in graded
    stepping.answer("older")
    first = stepping.question()
    assert "not kept: data/rows.csv" in first.split("put aside")[0]
    stepping.answer("older")
    assert "not kept: data/rows.csv" not in stepping.question().split("put aside")[0]
    stepping.answer("send")
    run = stepping.finish(run_id)

    assert "Sent now." in run.markdown()


def test_another_summary_is_asked_for_by_a_page_and_by_a_command(stepping: Kernel) -> None:
    with_new_summary(stepping, ANOTHER, ANOTHER, "says('Sent now.')")
    stepping.request(type="watch", client="page")
    try:
        mark = len(stepping.iopub)
        stepping.run("handle = %agent --bg Go on.")
        first = held_by(stepping, mark)
        assert first["new_summary"]["rule"] == "compact"
        mark = len(stepping.iopub)
        stepping.request(type="another-summary", hold=first["id"])
        asked = held_by(stepping, mark, purpose="compaction")
        assert asked["older_summary"]["message_id"] == first["new_summary"]["message_id"]
        assert asked["older_summary"]["words"] == first["new_summary"]["words"] != ""
        mark = len(stepping.iopub)
        stepping.request(type="release", hold=asked["id"])
        second = held_by(stepping, mark, purpose="step")
        assert second["new_summary"]["message_id"] != first["new_summary"]["message_id"]

        mark = len(stepping.iopub)
        said = stepping.run("%agent step another").markdown()
        assert "The new summary is put aside, and another is requested." in said
        third = held_by(stepping, mark, purpose="compaction")
        mark = len(stepping.iopub)
        stepping.request(type="older-summary", hold=third["id"])
        back = held_by(stepping, mark, purpose="step")
        assert back["new_summary"]["message_id"] == second["new_summary"]["message_id"]
        mark = len(stepping.iopub)
        said = stepping.run("%agent step older").markdown()
        assert "The summary that was put aside is used." in said
        older = held_by(stepping, mark, purpose="step")
        assert older["new_summary"]["message_id"] == first["new_summary"]["message_id"]
        mark = len(stepping.iopub)
        stepping.run("%agent step another")
        held_by(stepping, mark, purpose="compaction")
        assert "none to put aside" in stepping.run("%agent step another").markdown()
        stepping.run("%agent step off")
        assert "Sent now." in stepping.run("%agent wait").markdown()
    finally:
        stepping.request(type="unwatch", client="page")


def test_two_pages_see_it_and_the_first_answer_counts(stepping: Kernel) -> None:
    for page in ("one", "two"):
        stepping.request(type="watch", client=page)
    try:
        stepping.script("says('Sent now.')")
        mark = len(stepping.iopub)
        run_id = stepping.send("%%agent\nGo on.")
        held = held_by(stepping, mark)
        mark = len(stepping.iopub)
        for _ in range(2):
            stepping.request(type="release", hold=held["id"])
        late = stepping.wait(
            lambda m: (
                m["header"]["msg_type"] == "palimpsest_notice"
                and m["content"].get("answer", {}).get("late") is True
            ),
            since=mark,
        )
        assert "error" not in late["content"]
        assert "Sent now." in stepping.finish(run_id).markdown()
        mark = len(stepping.iopub)
        stepping.request(type="context-edit", action="pin", target="prt_1", hold=held["id"])
        said = stepping.wait(lambda m: bool(m["content"].get("error")), since=mark)
        assert said["content"]["error"] == (
            "That request is held no longer, so nothing was changed."
        )
    finally:
        for page in ("one", "two"):
            stepping.request(type="unwatch", client=page)
