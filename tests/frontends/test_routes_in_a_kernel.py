"""Actions on whole sessions by subcommand, by Python and by a page's command have the same effect."""

from collections.abc import Iterator

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


def test_sessions_are_listed_by_their_words(interfaces: ThreeInterfaces) -> None:
    wanted = interfaces.begin("says('Hi.')", title="Walrus")
    interfaces.says("Hello.")
    interfaces.begin(title="Another")

    rows = interfaces.sends(type="sessions", words="walrus")["sessions"]
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
            value = interfaces.look("(now().snapshot.session.id, len(now().snapshot.messages))")
            assert value == (session, 2)
        case _:
            picture = interfaces.picture()
            assert (picture["info"]["id"], picture["info"]["title"]) == (session, "Seen")
            assert len(picture["messages"]) == 2


def test_the_notebook_goes_on_with_another_session(interfaces: ThreeInterfaces) -> None:
    first = interfaces.begin()
    interfaces.begin()

    interfaces.sends(type="open", session=first)

    assert interfaces.look("now().id") == first


def test_a_session_is_called_otherwise(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin(title="Before")

    interfaces.sends(type="title", session=session, title="Two words")

    assert interfaces.told("session.updated")["session"]["title"] == "Two words"
    assert interfaces.look("now().title") == "Two words"


def test_a_session_is_put_away_and_fetched_back(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin("says('Hi.')", title="Away")
    interfaces.says("Hello.")
    listed = "[one.id for one in palimpsest.sessions('away').sessions]"

    def put(*, away: bool) -> None:
        interfaces.sends(type="archive", session=session, archived=away)

    put(away=True)
    gone = interfaces.look(listed)
    put(away=False)

    assert (gone, interfaces.look(listed)) == ([], [session])


def test_a_session_is_deleted_with_those_it_began(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin("says('Hi.')", title="Gone")
    interfaces.says("Hello.")
    child = interfaces.sends(type="new", title="Part", parent=session)["session"]["session"]

    interfaces.sends(type="delete", session=session)

    left = interfaces.look(
        "[one.id for one in palimpsest.sessions(archived=None, children=True).sessions]"
    )
    assert {session, child} & set(left) == set()
    assert not list((interfaces.folder / ".palimpsest" / "sessions").glob(f"{session}*"))


def test_the_sessions_of_tasks_are_listed(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin(HANDS_ON, "says('Seen.')", "says('Done.')")
    interfaces.answers()
    child = interfaces.look("now().children()[0].id")

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
            value = interfaces.look("[(t.content, t.status, t.priority) for t in now().todos]")
            assert value == [("Plot it", "in_progress", "high")]
        case _:
            todo = {"content": "Plot it", "status": "in_progress", "priority": "high"}
            assert interfaces.picture()["todos"] == [todo]


def test_changed_files_are_told_line_by_line(interfaces: ThreeInterfaces) -> None:
    name = "diff-protocol.txt"
    interfaces.begin(WRITES.format(name=name), "says('Written.')")
    interfaces.answers()

    (diff,) = interfaces.sends(type="revert", action="diff")["diffs"]
    assert (diff["file"], diff["status"], diff["additions"]) == (name, "added", 2)


def test_a_fork_has_what_came_before_a_message(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin("says('One.')", "says('Two.')")
    interfaces.says("First.")
    interfaces.says("Second.")
    second = interfaces.look("now().messages[2].id")

    interfaces.sends(type="fork", session=session, message=second)

    source = interfaces.look("(now().snapshot.session.forked_from.session_id, len(now().messages))")
    assert source == (session, 2)
    assert interfaces.look(f"len(now({session!r}).messages)") == 4


def test_branches_stand_side_by_side(interfaces: ThreeInterfaces) -> None:
    session = interfaces.begin("says('One.')", "says('Two.\\nOr so.')", "says('Another two.')")
    interfaces.says("First.")
    interfaces.says("Second.")
    fork = interfaces.look("now().fork(request=2).id")
    interfaces.cell(f"now({fork!r}).loop().result()")

    assert "Two. Or so." in interfaces.says(f"branches {fork}")
    table = interfaces.sends(type="branches", session=fork)["branches"]
    assert table["parted_at"] == 1
    assert [branch["session"] for branch in table["branches"]] == [session, fork]
    assert [branch["text"] for branch in table["branches"]] == ["Two.\nOr so.", "Another two."]
    assert all(len(branch["sizes"]) == 1 for branch in table["branches"])


def test_a_page_of_the_session_is_made_and_taken_away(interfaces: ThreeInterfaces) -> None:
    interfaces.begin("says('Forty two.')")
    interfaces.says("How many?")

    interfaces.sends(type="share")
    (page,) = (interfaces.folder / ".palimpsest" / "share").rglob("*.html")
    words = page.read_text()
    interfaces.sends(type="unshare")

    assert "Forty two." in words
    assert not page.exists()
    assert interfaces.told("session.updated")["session"]["id"] == interfaces.look("now().id")


def test_a_session_is_written_to_a_file(interfaces: ThreeInterfaces) -> None:
    interfaces.begin("says('Forty two.')")
    interfaces.says("How many?")
    file = "talk-protocol.md"

    assert interfaces.sends(type="export", form="md", path=file)["shown"] == file

    assert "Forty two." in (interfaces.folder / file).read_text()
