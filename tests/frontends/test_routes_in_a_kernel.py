"""What is done with sessions as a whole, by command, by Python and by a page's message: the same each way."""

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
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeInterfaces]:
    with Kernel(cwd=tmp_path_factory.mktemp("notebooks")) as kernel:
        yield ThreeInterfaces(kernel)


@each_way
def test_sessions_are_listed_by_their_words(hands: ThreeInterfaces, way: str) -> None:
    wanted = hands.begin("says('Hi.')", title=f"Walrus by {way}")
    hands.says("Hello.")
    hands.begin(title="Another")

    match way:
        case "command":
            found = hands.says(f"sessions walrus by {way}")
            others = "Another" in found
            assert wanted in found
        case "Python":
            found = hands.look(
                f"[(s.id, s.title) for s in palimpsest.sessions('walrus by {way}').sessions]"
            )
            others = len(found) > 1
            assert found[0] == (wanted, f"Walrus by {way}")
        case _:
            rows = hands.sends(type="sessions", words=f"walrus by {way}")["sessions"]
            others = len(rows) > 1
            assert (rows[0]["id"], rows[0]["messages"]) == (wanted, 2)
    assert not others


@each_way
def test_a_session_begins_with_a_title_and_rules(hands: ThreeInterfaces, way: str) -> None:
    before = hands.begin("says('Hi.')")
    hands.mark()

    match way:
        case "command":
            hands.says("--new --title Birds --permission bash=deny Hello.")
        case "Python":
            hands.cell("palimpsest.new_session('Birds', permission={'bash': 'deny'})")
        case _:
            hands.sends(type="new", title="Birds", permission={"bash": "deny"})

    title, rules = hands.look(
        "(now().title, [(r.permission, r.action) for r in now().snapshot.session.permission])"
    )
    assert hands.look("now().id") != before
    assert (title, ("bash", "deny") in rules) == ("Birds", True)


@pytest.mark.parametrize("way", ["Python", "protocol"])
def test_a_session_with_a_parent_belongs_to_it(hands: ThreeInterfaces, way: str) -> None:
    parent = hands.begin()

    if way == "Python":
        hands.cell("made = palimpsest.new_session('Part', parent=now()).id")
        child = hands.look("made")
    else:
        child = hands.sends(type="new", title="Part", parent=parent)["session"]["session"]

    assert hands.kernel.request(type="hello", protocol=1)["session"]["session"] == parent
    assert hands.look("[one.id for one in now().children()]") == [child]
    assert hands.look(f"now({child!r}).snapshot.session.parent_id") == parent


@each_way
def test_a_turn_that_runs_is_seen(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Let me').stalls()")
    hands.says("--bg Go.")
    hands.told("session.status", status={"type": "busy"})

    match way:
        case "command":
            assert "| `state` | runs |" in hands.says("status")
        case "Python":
            assert hands.look("now().status.type") == "busy"
        case _:
            told = hands.kernel.request(type="hello", protocol=1)
            assert told["session"]["status"] == {"type": "busy"}
    hands.sends(type="cancel")
    hands.told("session.status", status={"type": "idle"})
    assert hands.look("now().status.type") == "idle"


@each_way
def test_a_session_is_looked_at(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin("says('Hi.')", title="Seen")
    hands.says("Hello.")

    match way:
        case "command":
            said = hands.says("status")
            assert f"| `session` | {session} |" in said
            assert "| `messages` | 2 |" in said
        case "Python":
            found = hands.look("(now().snapshot.session.id, len(now().snapshot.messages))")
            assert found == (session, 2)
        case _:
            picture = hands.picture()
            assert (picture["info"]["id"], picture["info"]["title"]) == (session, "Seen")
            assert len(picture["messages"]) == 2


@each_way
def test_the_notebook_goes_on_with_another_session(hands: ThreeInterfaces, way: str) -> None:
    first = hands.begin()
    hands.begin()

    match way:
        case "command":
            hands.says(f"open {first}")
        case "Python":
            hands.cell(f"now({first!r})")
        case _:
            hands.sends(type="open", session=first)

    assert hands.look("now().id") == first


@each_way
def test_a_session_is_called_otherwise(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin(title="Before")

    match way:
        case "command":
            hands.says("title Two words")
        case "Python":
            hands.cell("now().retitle('Two words')")
        case _:
            hands.sends(type="title", session=session, title="Two words")

    assert hands.told("session.updated")["session"]["title"] == "Two words"
    assert hands.look("now().title") == "Two words"


@each_way
def test_a_session_is_put_away_and_fetched_back(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin("says('Hi.')", title=f"Away by {way}")
    hands.says("Hello.")
    listed = f"[one.id for one in palimpsest.sessions('away by {way}').sessions]"

    def put(*, away: bool) -> None:
        match way:
            case "command":
                hands.says(f"{'archive' if away else 'unarchive'} {session}")
            case "Python":
                hands.cell(f"now({session!r}).archive(archived={away})")
            case _:
                hands.sends(type="archive", session=session, archived=away)

    put(away=True)
    gone = hands.look(listed)
    put(away=False)

    assert (gone, hands.look(listed)) == ([], [session])


@each_way
def test_a_session_is_deleted_with_those_it_began(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin("says('Hi.')", title=f"Gone by {way}")
    hands.says("Hello.")
    child = hands.sends(type="new", title="Part", parent=session)["session"]["session"]

    match way:
        case "command":
            assert "Deleted" in hands.says(f"delete {session} --yes")
        case "Python":
            hands.cell(f"gone = now({session!r}).delete()")
            assert hands.look("gone") == (child, session)
        case _:
            hands.sends(type="delete", session=session)

    left = hands.look(
        "[one.id for one in palimpsest.sessions(archived=None, children=True).sessions]"
    )
    assert {session, child} & set(left) == set()
    assert not list((hands.folder / ".palimpsest" / "sessions").glob(f"{session}*"))


@each_way
def test_the_sessions_of_tasks_are_listed(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin(HANDS_ON, "says('Seen.')", "says('Done.')")
    hands.answers()
    child = hands.look("now().children()[0].id")

    match way:
        case "command":
            assert child in hands.says("children")
        case "Python":
            assert hands.look("[one.parent_id for one in now().children()]") == [session]
        case _:
            (row,) = hands.sends(type="children", session=session)["sessions"]
            assert (row["id"], row["parent"]) == (child, session)


@each_way
def test_what_is_to_do_is_listed(hands: ThreeInterfaces, way: str) -> None:
    hands.begin(LISTS, "says('Noted.')")
    hands.answers()

    match way:
        case "command":
            assert "Plot it" in hands.says("todo")
        case "Python":
            found = hands.look("[(t.content, t.status, t.priority) for t in now().todos]")
            assert found == [("Plot it", "in_progress", "high")]
        case _:
            todo = {"content": "Plot it", "status": "in_progress", "priority": "high"}
            assert hands.picture()["todos"] == [todo]


@each_way
def test_changed_files_are_told_line_by_line(hands: ThreeInterfaces, way: str) -> None:
    name = f"diff-{way}.txt"
    hands.begin(WRITES.format(name=name), "says('Written.')")
    hands.answers()

    match way:
        case "command":
            said = hands.says("diff")
            assert "This session changed 1 file, +2 -0" in said
            assert "+two" in said
        case "Python":
            found = hands.look("[(d.file, d.status, d.additions) for d in now().diff()]")
            assert found == [(name, "added", 2)]
        case _:
            (diff,) = hands.sends(type="revert", action="diff")["diffs"]
            assert (diff["file"], diff["status"], diff["additions"]) == (name, "added", 2)


@each_way
def test_a_fork_has_what_came_before_a_message(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin("says('One.')", "says('Two.')")
    hands.says("First.")
    hands.says("Second.")
    second = hands.look("now().messages[2].id")

    match way:
        case "command":
            hands.says(f"fork at {second}")
        case "Python":
            hands.cell(f"fork = now().fork({second!r}).id; now(fork)")
        case _:
            hands.sends(type="fork", session=session, message=second)

    source = hands.look("(now().snapshot.session.forked_from.session_id, len(now().messages))")
    assert source == (session, 2)
    assert hands.look(f"len(now({session!r}).messages)") == 4


@each_way
def test_a_page_of_the_session_is_made_and_taken_away(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Forty two.')")
    hands.says("How many?")

    def share() -> Any:
        match way:
            case "command":
                return hands.says("share")
            case "Python":
                return hands.cell("now().share()")
            case _:
                return hands.sends(type="share")

    share()
    (page,) = (hands.folder / ".palimpsest" / "share").rglob("*.html")
    words = page.read_text()
    match way:
        case "command":
            hands.says("unshare")
        case "Python":
            hands.cell("now().unshare()")
        case _:
            hands.sends(type="unshare")

    assert "Forty two." in words
    assert not page.exists()
    assert hands.told("session.updated")["session"]["id"] == hands.look("now().id")


@each_way
def test_a_session_is_written_to_a_file(hands: ThreeInterfaces, way: str) -> None:
    hands.begin("says('Forty two.')")
    hands.says("How many?")
    file = f"talk-{way}.md"

    match way:
        case "command":
            hands.says(f"export md {file}")
        case "Python":
            hands.cell(f"now().export('md', {file!r})")
        case _:
            assert hands.sends(type="export", form="md", path=file)["file"]["shown"] == file

    assert "Forty two." in (hands.folder / file).read_text()


@each_way
def test_an_exported_session_is_brought_in(hands: ThreeInterfaces, way: str) -> None:
    session = hands.begin("says('Forty two.')")
    hands.says("How many?")
    file = f"in-{way}.json"
    hands.sends(type="export", form="json", path=file)
    hands.begin()
    hands.sends(type="delete", session=session)

    match way:
        case "command":
            assert "2 messages: " in hands.says(f"import {file}")
        case "Python":
            hands.cell(f"report = palimpsest.import_session({file!r})")
            assert hands.look("[one.outcome for one in report.sessions]") == ["new"]
        case _:
            (row,) = hands.sends(type="import", path=file)["imported"]
            assert (row["outcome"], row["messages"]) == ("new", 2)

    (brought,) = hands.look("[one.id for one in palimpsest.sessions('how many', limit=1).sessions]")
    assert "Forty two." in hands.look(f"str(now({brought!r}).messages[-1])")
