"""``session.inspect()`` in a real kernel: what the cell keeps, and what its page asks and changes over the comm."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.test_view import comm, opened, say, told
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample
from tests.recordings.money_recordings import write_recordings
from tests.review.timeline_view.patched_view import patched

from palimpsest.review.timeline_view.view_patch import ViewPatch
from palimpsest.review.timeline_view.view_values import TimelineView

pytestmark = pytest.mark.slow

KEY = "sk-test-0123456789abcdef0123"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("inspect")
    sample("marshmallow-1867.traj", folder)
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(folder / "a.ipynb")}
    with Kernel(cwd=folder, env=env) as made:
        made.client.run("%load_ext palimpsest\nimport palimpsest")
        made.client.run(f"%agent -m rehearsal/rules Hello, my key is {KEY}.")
        yield made


def asked(kernel: Kernel, to: str, number: int, query: dict[str, Any]) -> dict[str, Any]:
    """Ask one question as the page does and return the answer."""
    identifier = f"{to}-{number}"
    say(kernel, to, {"kind": "ask", "id": identifier, "query": query})
    found: dict[str, Any] = told(kernel, "answer", id=identifier)["answer"]
    return found


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_cell.py reads them in a saved notebook; this adds that no key is in them
def test_a_cell_keeps_a_picture_and_tables_without_keys_and_they_follow_the_session(
    kernel: Kernel,
) -> None:
    run = kernel.client.run("palimpsest.current_session().inspect()")

    [output] = run.outputs()
    html = output["data"]["text/html"]
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert 'src="data:image/svg+xml;base64,' in html
    assert not re.search(r"<(script|style|svg|link)", html)
    assert "The largest items" in html
    assert len(html) < 64_000
    assert KEY not in html + output["data"]["text/plain"]
    before = len(kernel.client.iopub)
    kernel.client.run("%agent -m rehearsal/rules Hello again.")
    update = kernel.client.wait(
        lambda m: (
            m["header"]["msg_type"] == "update_display_data"
            and "plm-inspect-" in m["content"]["data"].get("text/html", "")
        ),
        since=before,
    )
    assert update["parent_header"]["msg_id"] == run.id


def test_the_page_asks_follows_and_edits_over_the_comm(kernel: Kernel) -> None:
    kernel.client.run("%agent -m rehearsal/rules Hello again.")
    kernel.client.run("shown = palimpsest.current_session().inspect(price='units')")
    to = comm(kernel)

    view = asked(kernel, to, 1, {"ask": "view"})["view"]
    item = next(
        n for n, label in enumerate(view["items"]["label"]) if label.startswith("Hello again")
    )
    text = asked(kernel, to, 2, {"ask": "item", "item": item, "request": 1})["item"]
    wrong = asked(kernel, to, 3, {"ask": "no such thing"})
    part = view["items"]["id"][item].split("/")[1]
    say(kernel, to, {"kind": "edit", "id": "4", "action": "pin", "part": part})
    pinned = told(kernel, "edited", id="4")["error"]
    say(kernel, to, {"kind": "edit", "id": "5", "action": "pin", "part": "prt_none"})
    refused = told(kernel, "edited", id="5")["error"]
    since = len(kernel.client.iopub)
    kernel.client.run("%agent -m rehearsal/rules Hello once more.")
    grown = told(kernel, "changed", since=since)["seq"]
    newer = asked(kernel, to, 6, {"ask": "view", "after": view["seq"]})["view"]
    held = {"ask": "view", "after": newer["seq"], "epoch": newer["epoch"]}
    say(kernel, to, {"kind": "edit", "id": "7", "action": "unpin", "part": part})
    told(kernel, "edited", id="7")
    unpinned = asked(kernel, to, 8, held)["patch"]
    say(kernel, to, {"kind": "note", "id": "9", "words": {"text": f"Key {KEY}.", "request": 1}})
    noted = told(kernel, "answer", id="9")["answer"]["notes"]
    say(kernel, to, {"kind": "note", "id": "10", "words": {"text": "x", "request": 999}})
    misplaced = told(kernel, "answer", id="10")["answer"]["error"]
    listed = asked(kernel, to, 11, {"ask": "notes"})["notes"]

    assert view["own"] is True
    assert view["price"]["unit"] == "units"
    assert text["text"] == "Hello again."
    assert wrong["error"].startswith("The page and the kernel")
    assert pinned == ""
    assert refused.endswith(".")
    assert grown > view["seq"]
    assert item in newer["items"]["pinned"]
    assert len(newer["requests"]["id"]) > len(view["requests"]["id"])
    assert unpinned["view"]["items"]["pinned"] == []
    assert [view["note"]["text"] for view in noted["notes"]] == ["Key [redacted]."]
    assert "there is no request 999" in misplaced
    assert listed == noted
    assert "items.pinned" not in unpinned["kept"]


def test_a_page_that_has_a_view_is_told_what_came_since_while_the_session_runs(
    kernel: Kernel,
) -> None:
    kernel.client.run("shown = palimpsest.current_session().inspect()")
    to = comm(kernel)
    first = asked(kernel, to, 20, {"ask": "view"})["view"]
    view = TimelineView.model_validate(first)
    sizes, answers = [], 0
    for number in range(21, 27):
        since = len(kernel.client.iopub)
        kernel.client.run(f"%agent -m rehearsal/rules Hello for the {number}th time.")
        told(kernel, "changed", since=since)
        held = {"ask": "view", "after": view.seq, "epoch": view.epoch}
        answer = asked(kernel, to, number, held)
        answers += 1
        if "view" in answer:
            view = TimelineView.model_validate(answer["view"])
            continue
        sizes.append(len(json.dumps(answer)))
        view = patched(view, ViewPatch.model_validate(answer["patch"]))
    whole = TimelineView.model_validate(asked(kernel, to, 30, {"ask": "view"})["view"])

    # A ruler that is fitted anew, which a first few requests do, has a whole view.
    assert len(sizes) > answers / 2
    assert max(sizes) < 10_000
    assert len(view.requests.id) > len(first["requests"]["id"])
    assert view.model_dump() == whole.model_dump()


def test_a_page_is_answered_while_a_cell_runs(kernel: Kernel) -> None:
    kernel.client.run("shown = palimpsest.current_session().inspect()")
    to = comm(kernel)
    with kernel.client.subshell() as subshell:
        gate = kernel.client.gate()
        running = kernel.client.send(gate.blocking)
        gate.reached()
        say(kernel, to, {"kind": "ask", "id": "busy", "query": {"ask": "view"}}, subshell)
        answer = told(kernel, "answer", id="busy")["answer"]
        gate.open()
        kernel.client.finish(running)

    assert answer["view"]["own"] is True


def test_the_place_is_read_set_and_observed_while_the_view_is_open(kernel: Kernel) -> None:
    run = kernel.client.run(
        "view = palimpsest.current_session().inspect(request=1, tab='cost')\n"
        "seen = []\n"
        "view.observe(lambda change: seen.append(change.new), 'place')"
    )
    assert run.status == "ok", run.reply["content"]
    to = comm(kernel)
    session = kernel.client.value("view.session").strip("'")
    [*_, state] = [opened(message) for message in kernel.client.iopub if opened(message)]
    moved = f"palimpsest:{session}/1/2?tab=items&find=Hello"
    data = {"method": "update", "state": {"place": moved}, "buffer_paths": []}
    kernel.client.session.send(
        kernel.client._sockets["shell"],
        kernel.client.session.msg("comm_msg", {"comm_id": to, "data": data}),
    )
    read = kernel.client.value("(view.place.item, view.place.filter.text, view.link, len(seen))")
    since = len(kernel.client.iopub)
    kernel.client.run("view.move_to(item=None, request=2)")
    sent = kernel.client.wait(
        lambda m: (
            m["header"]["msg_type"] == "comm_msg"
            and m["content"]["data"].get("method") == "update"
            and m["content"]["comm_id"] == to
        ),
        since=since,
    )

    assert state["place"] == f"palimpsest:{session}/1?tab=cost"
    assert ast.literal_eval(read) == (2, "Hello", moved, 1)
    assert (
        sent["content"]["data"]["state"]["place"] == f"palimpsest:{session}/2?tab=items&find=Hello"
    )
    assert kernel.client.value("[place.request for place in seen]") == "[1, 2]"
    assert kernel.client.value("view.place == view.place.model_validate(view.place.model_dump())")


def test_hidden_answers_are_not_in_the_saved_cell_until_they_are_revealed(
    kernel: Kernel, tmp_path: Path
) -> None:
    broken = sample("claude_code/cc1df109.jsonl", tmp_path)
    run = kernel.client.run(
        f"recorded = palimpsest.open_recording({str(broken)!r})[0]\n"
        "recorded.note('The answer is a dollar.', request=3)\n"
        "view = recorded.inspect(hide=['cost', 'breaks'])\nview"
    )
    since = len(kernel.client.iopub)
    opened_again = kernel.client.run("recorded.inspect(views='breaks')")
    kernel.client.run("view.reveal('cost')\nhidden = view.hidden")
    kernel.client.run("view.reveal()")

    def updated(message: Any) -> bool:
        data = message["content"].get("data", {})
        return (
            message["header"]["msg_type"] == "update_display_data"
            and "Cache breaks" in data["text/html"]
        )

    kernel.client.wait(updated, since=since)
    [hidden, alone] = [made.outputs()[0]["data"] for made in (run, opened_again)]
    for text in hidden.values():
        assert "Hidden until it is revealed: sentence, difference, requests" in text
        assert not re.search(r"USD|[Cc]ache break|a dollar", text)
    assert "The largest items" in hidden["text/html"]
    assert "Cache breaks" in alone["text/html"]
    assert not re.search("The largest items|data:image", alone["text/html"])
    assert "'figures'" in kernel.client.value("hidden")
    assert kernel.client.value("view.hidden") == "[]"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("session.inspect(hide=['costs'])", "'costs' in hide is no part of the inspector"),
        ("session.inspect(views='x')", "'x' in views is no part of the inspector"),
        ("session.inspect().reveal('x')", "'x' in reveal is no part of the inspector"),
        ("session.inspect(request=0)", "0 is no request: the least is 1."),
        ("session.inspect(tab='costs')", "'costs' is no tab: there are 'compared', 'timeline'"),
        ("session.inspect(requests=3)", "An inspector's place has no 'requests'; it has request"),
        (
            "session.inspect(link='palimpsest:ses_other/4')",
            "The link leads to the session ses_other, and this is ses_",
        ),
        ("session.inspect().place = 7", "7 is no place of an inspector"),
        ("session.inspect().place = {'range': [5, 3]}", "is no range"),
        ("session.inspect().move_to(zoom='wide')", "'wide' is no zoom"),
    ],
)
def test_a_place_that_is_none_is_one_sentence(kernel: Kernel, code: str, sentence: str) -> None:
    run = kernel.client.run(f"session = palimpsest.current_session()\n{code}")

    assert run.reply["content"]["status"] == "error"
    assert sentence in run.reply["content"]["evalue"]


@pytest.mark.soak  # with each commit tests/e2e/test_inspector_cell.py offers no button to change one; this adds what the kernel answers
def test_a_recordings_session_is_inspected_and_cannot_be_changed(kernel: Kernel) -> None:
    run = kernel.client.run(
        "recorded = palimpsest.open_recording('marshmallow-1867.traj')[0].inspect()\nrecorded"
    )
    to = comm(kernel)

    view = asked(kernel, to, 1, {"ask": "view"})["view"]
    track = asked(kernel, to, 2, {"ask": "track", "policy": "sweagent.last_n"})["track"]
    say(kernel, to, {"kind": "edit", "id": "recorded", "action": "pin", "part": "x"})
    refused = told(kernel, "edited", id="recorded")["error"]

    assert "Cache breaks" in run.outputs()[0]["data"]["text/html"] or "largest" in str(
        run.outputs()
    )
    assert (view["origin"], view["own"]) == ("swe-agent", False)
    assert len(track["total"]) == len(view["requests"]["id"])
    assert refused == "This recording is only read, so nothing in it can be changed."


def test_two_sessions_are_in_the_cell_the_saved_cell_and_the_place(kernel: Kernel) -> None:
    kernel.client.run("one = palimpsest.current_session()\n%agent -m rehearsal/rules Hello again.")
    run = kernel.client.run("two = one.fork()\nboth = one.inspect(beside=two)\nboth")
    to = comm(kernel)

    compared = asked(kernel, to, 1, {"ask": "comparison"})["comparison"]
    known = asked(kernel, to, 2, {"ask": "comparison", "known": compared["stamp"]})
    say(kernel, to, {"kind": "ask", "id": "3", "query": {"ask": "view"}, "side": "second"})
    second = told(kernel, "answer", id="3")["answer"]["view"]
    shown = "(both.place.beside, both.place.side, both.link) == (two.id, {side!r}, {link!r}.format(one.id, two.id))"
    opened_first = kernel.value(
        shown.format(side=None, link="palimpsest:{0}?beside={1}&tab=compared")
    )
    kernel.client.run("both.place = {'request': 1, 'side': 'second'}")
    opened_second = kernel.value(
        shown.format(side="second", link="palimpsest:{0}/1?beside={1}&side=second")
    )
    again = kernel.value("one.inspect(link=both.link).place == both.place")

    assert [compared[side]["session"] for side in ("first", "second")] == [
        ast.literal_eval(kernel.value("one.id")),
        second["session"],
    ]
    assert known["unchanged"]
    assert (opened_first, opened_second, again) == ("True", "True", "True")
    [output] = run.outputs()
    assert "Two sessions" in output["data"]["text/html"]
    assert compared["sentence"] in output["data"]["text/plain"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("one.inspect(beside=one)", "This is the session itself; choose another"),
        ("one.inspect(beside='nowhere.jsonl')", "nowhere.jsonl"),
        ("one.inspect(beside='ses_none')", "ses_none"),
        ("one.inspect(beside='marshmallow-1867.traj', hide='cost')", "leave out views and hide"),
        ("one.inspect().place = {'beside': 'ses_2'}", "shows no session beside its own"),
    ],
)
def test_a_session_that_cannot_stand_beside_is_one_sentence(
    kernel: Kernel, code: str, sentence: str
) -> None:
    kernel.client.run("one = palimpsest.current_session()")
    run = kernel.client.run(code)

    assert sentence in str(run.messages)
    assert "Traceback" not in str(run.messages)


def test_a_recording_stands_beside_a_session_and_beside_another_recording(kernel: Kernel) -> None:
    kernel.client.run("one = palimpsest.current_session()\npath = 'marshmallow-1867.traj'")
    kernel.client.run("recorded = palimpsest.open_recording(path)[0]")

    for code, sessions in (
        ("one.inspect(beside=path)", "[one.id, recorded.timeline.session]"),
        ("recorded.inspect(beside=one)", "[recorded.timeline.session, one.id]"),
    ):
        kernel.client.run(f"both = {code}\nboth")
        to = comm(kernel)
        compared = asked(kernel, to, 1, {"ask": "comparison", "price": "units"})["comparison"]
        assert compared["unit"] == "units"
        expected = ast.literal_eval(kernel.value(sessions))
        assert [compared[side]["session"] for side in ("first", "second")] == expected


def test_prices_and_lifetime_that_the_page_asks_for_stand_beside_those_it_was_opened_with(
    kernel: Kernel, tmp_path: Path
) -> None:
    recording = write_recordings(tmp_path)["five_minutes.jsonl"]
    kernel.client.run(
        f"priced = palimpsest.open_recording({str(recording)!r})[0]"
        ".inspect(price='claude-opus-4-8=1/2/0.1/1.25/2')\npriced"
    )
    to = comm(kernel)

    def view_at(number: int, price: str | None) -> dict[str, Any]:
        found: dict[str, Any] = asked(kernel, to, number, {"ask": "view", "price": price})["view"]
        return found

    opened, hour, other = view_at(1, None), view_at(2, "lifetime=1h"), view_at(3, "units")
    own = view_at(4, "claude-opus-4-8=3/2/0.1/1.25 lifetime=1h")
    wrong = asked(kernel, to, 5, {"ask": "view", "price": "lifetime=soon"})["error"]

    assert [view["price"]["input"] for view in (opened, hour, own)] == [1, 1, 3]
    assert other["price"]["unit"] == "units"
    costs = [view["recorded"]["figures"]["cost"] for view in (opened, hour)]
    assert costs[0] < costs[1]  # what is kept for an hour is written at twice the price of input
    assert "is no lifetime of the cache" in wrong
    links = kernel.client.value(
        "(priced.link, priced.move_to(request=2, price='lifetime=1h'), priced.link)"
    )
    first, _, second = ast.literal_eval(links)
    assert first.partition("?")[2] == "price=claude-opus-4-8%3D1%2F2%2F0.1%2F1.25%2F2"
    assert second.partition("?")[2] == f"{first.partition('?')[2]}%20lifetime%3D1h"
    again = kernel.client.value(
        f"palimpsest.open_recording({str(recording)!r})[0].inspect(link={second!r}).link"
    )
    assert ast.literal_eval(again) == second


def test_a_policy_of_a_cell_stands_in_the_list_answers_and_fails_with_its_line(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.client.run(
        "@palimpsest.policy\n"
        "def newest(view, keep=5, least=0):\n"
        "    for index in view.outputs[:1000 // (keep - 8)]:\n"
        "        yield palimpsest.policies.clear(index)\n"
    )
    kernel.client.run("session = palimpsest.current_session()")
    kernel.client.run("shown = session.inspect(policies=[newest])")
    to = comm(kernel)

    option, *others = asked(kernel, to, 1, {"ask": "view"})["view"]["policies"]
    ask = {"ask": "track", "policy": "newest", "numbers": {"keep": 3}}
    track = asked(kernel, to, 2, ask)["track"]
    fails = asked(kernel, to, 3, {**ask, "numbers": {"keep": 8}})["error"]
    refused = asked(kernel, to, 4, {**ask, "numbers": {"keep": 1.5}})["error"]
    why = kernel.client.value("session.why(1, 1, policy=newest)")
    request = kernel.client.value("session.request(1, policy=newest).policy")
    page = tmp_path / "session.html"
    report = kernel.client.run(f"session.report({str(page)!r}, policies=[newest])")

    assert option["name"] == "newest"
    assert option["source"].startswith("your own, sha256 ")
    assert [slider["name"] for slider in option["sliders"]] == ["keep", "least"]
    assert "newest" not in [other["name"] for other in others]
    assert track["policy"] == "newest keep=3"
    line = r"line 3 of cell In\[\d+\] \(for index in view\.outputs\[:1000 // \(keep - 8\)\]:\): ZeroDivisionError: .*\."
    assert re.fullmatch(rf"The policy 'newest keep=8' failed at request 1, {line}", fails)
    assert refused == "The number 'keep' of 'newest' takes a whole number, not 1.5."
    assert why.strip("'").startswith("Under newest: ")
    assert request == "'newest'"
    said = str(report.reply["content"]["evalue"])
    assert re.fullmatch(rf"The policy 'newest keep=8' failed at request 1, {line}", said)
    assert not page.exists()


def test_a_report_is_written_without_keys(kernel: Kernel, tmp_path: Path) -> None:
    page = tmp_path / "session.html"
    written = kernel.client.value(
        f"str(palimpsest.current_session().report({str(page)!r}, policies='raw', texts='all'))"
    )
    refused = kernel.client.run(f"palimpsest.current_session().report({str(tmp_path)!r})")

    assert written.strip("'") == str(page)
    assert "is there already and is no report" in str(refused.reply["content"]["evalue"])
