"""Actions on whole sessions by subcommand, by Python and by a page's command have the same effect."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.frontends.three_interfaces import WAYS, ThreeInterfaces
from tests.harness.kernel import Kernel

pytestmark = pytest.mark.slow
each_way = pytest.mark.parametrize("way", WAYS)

WRITES = "calls('write', path='{name}', content='one\\ntwo\\n')"
LISTS = "calls('todowrite', todos=[{'content': 'Plot it', 'status': 'in_progress', 'priority': 'high'}])"
HANDS_ON = "calls('task', description='Look', prompt='Look.', agent='explore')"


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        yield ThreeInterfaces(kernel)


@each_way
def test_sessions_are_listed_by_their_words(interfaces: ThreeInterfaces, way: str) -> None:
    wanted = interfaces.begin("says('Hi.')", title=f"Walrus by {way}")
    interfaces.says("Hello.")
    interfaces.begin(title="Another")

    match way:
        case "command":
            found = interfaces.says(f"sessions walrus by {way}")
            others = "Another" in found
            assert wanted in found
        case "Python":
            found = interfaces.look(
                f"[(s.id, s.title) for s in palimpsest.sessions('walrus by {way}').sessions]"
            )
            others = len(found) > 1
            assert found[0] == (wanted, f"Walrus by {way}")
        case _:
            rows = interfaces.sends(type="sessions", words=f"walrus by {way}")["sessions"]
            others = len(rows) > 1
            assert (rows[0]["id"], rows[0]["messages"]) == (wanted, 2)
    assert not others


@each_way
def test_a_session_begins_with_a_title_and_rules(interfaces: ThreeInterfaces, way: str) -> None:
    before = interfaces.begin("says('Hi.')")
    interfaces.mark()

    match way:
        case "command":
            interfaces.says("--new --title Birds --permission bash=deny Hello.")
        case "Python":
            interfaces.cell("palimpsest.new_session('Birds', permission={'bash': 'deny'})")
        case _:
            interfaces.sends(type="new", title="Birds", permission={"bash": "deny"})

    title, rules = interfaces.look(
        "(now().title, [(r.permission, r.action) for r in now().snapshot.session.permission])"
    )
    assert interfaces.look("now().id") != before
    assert (title, ("bash", "deny") in rules) == ("Birds", True)


@pytest.mark.parametrize("way", ["Python", "protocol"])
def test_a_session_with_a_parent_belongs_to_it(interfaces: ThreeInterfaces, way: str) -> None:
    parent = interfaces.begin()

    if way == "Python":
        interfaces.cell("made = palimpsest.new_session('Part', parent=now()).id")
        child = interfaces.look("made")
    else:
        child = interfaces.sends(type="new", title="Part", parent=parent)["session"]["session"]

    assert interfaces.kernel.request(type="hello", protocol=1)["session"]["session"] == parent
    assert interfaces.look("[one.id for one in now().children()]") == [child]
    assert interfaces.look(f"now({child!r}).snapshot.session.parent_id") == parent


@each_way
def test_a_turn_that_runs_is_seen(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin("says('Let me').stalls()")
    interfaces.says("--bg Go.")
    interfaces.told("session.status", status={"type": "busy"})

    match way:
        case "command":
            assert "| `state` | runs |" in interfaces.says("status")
        case "Python":
            assert interfaces.look("now().status.type") == "busy"
        case _:
            told = interfaces.kernel.request(type="hello", protocol=1)
            assert told["session"]["status"] == {"type": "busy"}
    interfaces.sends(type="cancel")
    interfaces.told("session.status", status={"type": "idle"})
    assert interfaces.look("now().status.type") == "idle"


@each_way
def test_a_session_is_looked_at(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('Hi.')", title="Seen")
    interfaces.says("Hello.")

    match way:
        case "command":
            said = interfaces.says("status")
            assert f"| `session` | {session} |" in said
            assert "| `messages` | 2 |" in said
        case "Python":
            found = interfaces.look("(now().snapshot.session.id, len(now().snapshot.messages))")
            assert found == (session, 2)
        case _:
            picture = interfaces.picture()
            assert (picture["info"]["id"], picture["info"]["title"]) == (session, "Seen")
            assert len(picture["messages"]) == 2


@each_way
def test_the_notebook_goes_on_with_another_session(interfaces: ThreeInterfaces, way: str) -> None:
    first = interfaces.begin()
    interfaces.begin()

    match way:
        case "command":
            interfaces.says(f"open {first}")
        case "Python":
            interfaces.cell(f"now({first!r})")
        case _:
            interfaces.sends(type="open", session=first)

    assert interfaces.look("now().id") == first


@each_way
def test_a_session_is_called_otherwise(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin(title="Before")

    match way:
        case "command":
            interfaces.says("title Two words")
        case "Python":
            interfaces.cell("now().retitle('Two words')")
        case _:
            interfaces.sends(type="title", session=session, title="Two words")

    assert interfaces.told("session.updated")["session"]["title"] == "Two words"
    assert interfaces.look("now().title") == "Two words"


@each_way
def test_a_session_is_put_away_and_fetched_back(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('Hi.')", title=f"Away by {way}")
    interfaces.says("Hello.")
    listed = f"[one.id for one in palimpsest.sessions('away by {way}').sessions]"

    def put(*, away: bool) -> None:
        match way:
            case "command":
                interfaces.says(f"{'archive' if away else 'unarchive'} {session}")
            case "Python":
                interfaces.cell(f"now({session!r}).archive(archived={away})")
            case _:
                interfaces.sends(type="archive", session=session, archived=away)

    put(away=True)
    gone = interfaces.look(listed)
    put(away=False)

    assert (gone, interfaces.look(listed)) == ([], [session])


@each_way
def test_a_session_is_deleted_with_those_it_began(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('Hi.')", title=f"Gone by {way}")
    interfaces.says("Hello.")
    child = interfaces.sends(type="new", title="Part", parent=session)["session"]["session"]

    match way:
        case "command":
            assert "Deleted" in interfaces.says(f"delete {session} --yes")
        case "Python":
            interfaces.cell(f"gone = now({session!r}).delete()")
            assert interfaces.look("gone") == (child, session)
        case _:
            interfaces.sends(type="delete", session=session)

    left = interfaces.look(
        "[one.id for one in palimpsest.sessions(archived=None, children=True).sessions]"
    )
    assert {session, child} & set(left) == set()
    assert not list((interfaces.folder / ".palimpsest" / "sessions").glob(f"{session}*"))


@each_way
def test_the_sessions_of_tasks_are_listed(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin(HANDS_ON, "says('Seen.')", "says('Done.')")
    interfaces.answers()
    child = interfaces.look("now().children()[0].id")

    match way:
        case "command":
            assert child in interfaces.says("children")
        case "Python":
            assert interfaces.look("[one.parent_id for one in now().children()]") == [session]
        case _:
            (row,) = interfaces.sends(type="children", session=session)["sessions"]
            assert (row["id"], row["parent_id"]) == (child, session)


@each_way
def test_what_is_to_do_is_listed(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin(LISTS, "says('Noted.')")
    interfaces.answers()

    match way:
        case "command":
            assert "Plot it" in interfaces.says("todo")
        case "Python":
            found = interfaces.look("[(t.content, t.status, t.priority) for t in now().todos]")
            assert found == [("Plot it", "in_progress", "high")]
        case _:
            todo = {"content": "Plot it", "status": "in_progress", "priority": "high"}
            assert interfaces.picture()["todos"] == [todo]


@each_way
def test_changed_files_are_told_line_by_line(interfaces: ThreeInterfaces, way: str) -> None:
    name = f"diff-{way}.txt"
    interfaces.begin(WRITES.format(name=name), "says('Written.')")
    interfaces.answers()

    match way:
        case "command":
            said = interfaces.says("diff")
            assert "This session changed 1 file, +2 -0" in said
            assert "+two" in said
        case "Python":
            found = interfaces.look("[(d.file, d.status, d.additions) for d in now().diff()]")
            assert found == [(name, "added", 2)]
        case _:
            (diff,) = interfaces.sends(type="revert", action="diff")["diffs"]
            assert (diff["file"], diff["status"], diff["additions"]) == (name, "added", 2)


@each_way
def test_a_fork_has_what_came_before_a_message(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('One.')", "says('Two.')")
    interfaces.says("First.")
    interfaces.says("Second.")
    second = interfaces.look("now().messages[2].id")

    match way:
        case "command":
            interfaces.says(f"fork at {second}")
        case "Python":
            interfaces.cell(f"fork = now().fork({second!r}).id; now(fork)")
        case _:
            interfaces.sends(type="fork", session=session, message=second)

    source = interfaces.look("(now().snapshot.session.forked_from.session_id, len(now().messages))")
    assert source == (session, 2)
    assert interfaces.look(f"len(now({session!r}).messages)") == 4


@each_way
def test_branches_stand_side_by_side(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('One.')", "says('Two.\\nOr so.')", "says('Another two.')")
    interfaces.says("First.")
    interfaces.says("Second.")
    fork = interfaces.look("now().fork(request=2).id")
    interfaces.cell(f"now({fork!r}).loop().result()")

    match way:
        case "command":
            shown = interfaces.says(f"branches {fork}")
            assert "Two. Or so." in shown
            assert "Another two." in shown
        case "Python":
            found = interfaces.look(f"[one.answer for one in now({fork!r}).branches().branches]")
            assert found == ["Two. Or so.", "Another two."]
        case _:
            table = interfaces.sends(type="branches", session=fork)["branches"]
            assert table["parted_at"] == 1
            assert [one["session"] for one in table["branches"]] == [session, fork]
            assert [one["text"] for one in table["branches"]] == ["Two.\nOr so.", "Another two."]
            assert all(len(one["sizes"]) == 1 for one in table["branches"])


@each_way
def test_a_page_of_the_session_is_made_and_taken_away(
    interfaces: ThreeInterfaces, way: str
) -> None:
    interfaces.begin("says('Forty two.')")
    interfaces.says("How many?")

    def share() -> Any:
        match way:
            case "command":
                return interfaces.says("share")
            case "Python":
                return interfaces.cell("now().share()")
            case _:
                return interfaces.sends(type="share")

    share()
    (page,) = (interfaces.folder / ".palimpsest" / "share").rglob("*.html")
    words = page.read_text()
    match way:
        case "command":
            interfaces.says("unshare")
        case "Python":
            interfaces.cell("now().unshare()")
        case _:
            interfaces.sends(type="unshare")

    assert "Forty two." in words
    assert not page.exists()
    assert interfaces.told("session.updated")["session"]["id"] == interfaces.look("now().id")


@each_way
def test_a_session_is_written_to_a_file(interfaces: ThreeInterfaces, way: str) -> None:
    interfaces.begin("says('Forty two.')")
    interfaces.says("How many?")
    file = f"talk-{way}.md"

    match way:
        case "command":
            interfaces.says(f"export md {file}")
        case "Python":
            interfaces.cell(f"now().export('md', {file!r})")
        case _:
            assert interfaces.sends(type="export", form="md", path=file)["file"]["shown"] == file

    assert "Forty two." in (interfaces.folder / file).read_text()


@each_way
def test_an_exported_session_is_brought_in(interfaces: ThreeInterfaces, way: str) -> None:
    session = interfaces.begin("says('Forty two.')")
    interfaces.says("How many?")
    file = f"in-{way}.json"
    interfaces.sends(type="export", form="json", path=file)
    interfaces.begin()
    interfaces.sends(type="delete", session=session)

    match way:
        case "command":
            assert "2 messages: " in interfaces.says(f"import {file}")
        case "Python":
            interfaces.cell(f"report = palimpsest.import_session({file!r})")
            assert interfaces.look("[one.outcome for one in report.sessions]") == ["new"]
        case _:
            (row,) = interfaces.sends(type="import", path=file)["imported"]
            assert (row["outcome"], row["messages"]) == ("new", 2)

    (brought,) = interfaces.look(
        "[one.id for one in palimpsest.sessions('how many', limit=1).sessions]"
    )
    assert "Forty two." in interfaces.look(f"str(now({brought!r}).messages[-1])")
