"""A shared session is one self-contained HTML page that names itself and reveals no secrets."""

import base64
import html.parser
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.sample_session import (
    BEGUN,
    SampleSession,
    data_url,
    everything,
    long_session,
    picture,
)
from tests.sample_size import sample_size
from tests.store.record_builders import OWNER, SESSION, records

from palimpsest.session.sharing import share_page
from palimpsest.session.sharing.share_page import (
    make_page,
    page_html,
    page_path,
    remove_page,
    write_page,
)
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.errors import ApiError, UserError
from palimpsest.transcript.redaction.home_folders import with_home_folders_hidden
from palimpsest.transcript.values import Todo

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
VALUE = "correct.horse.battery.staple"
"""A secret that no pattern recognises: only the environment reveals that it is one."""
ENVIRONMENT = {"MY_API_KEY": VALUE, "HOME": "/mnt/people/ada"}
HOME = "/home/ada/secret-project"
OWN_HOME = "/mnt/people/ada/notes"
PLANTED = f"{KEY} {VALUE} {HOME} {OWN_HOME}"
TRACES = (KEY, VALUE, "/home/ada", "people/ada")


def shown(teller: SampleSession) -> str:
    store = MemoryStore()
    teller.write(store)
    return "".join(page_html(store, SESSION, ENVIRONMENT))


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(tmp_path))


def clean(made: str) -> bool:
    """Return whether a page, including its embedded data, contains none of the planted secrets."""
    embedded = [
        base64.b64decode(piece.partition('"')[0]).decode("latin-1")
        for piece in made.split(";base64,")[1:]
    ]
    return not any(trace in text for text in [made, *embedded] for trace in TRACES)


PLACES: dict[str, Callable[[SampleSession], Any]] = {
    "title": lambda _told: None,
    "prompt": lambda told: told.prompt(PLANTED),
    "text": lambda told: told.answer().part(type="text", text=f"# A\n\n`{PLANTED}`\n\n{PLANTED}"),
    "reasoning": lambda told: told.answer().part(type="reasoning", text=PLANTED),
    "input": lambda told: told.answer().call("python", {"code": f"x = 1\n# {PLANTED}"}, "y"),
    "other input": lambda told: told.answer().call(
        "ask", {"a": PLANTED, PLANTED: 2, "c": [PLANTED]}, ""
    ),
    "output": lambda told: told.answer().call("bash", {"command": "env"}, PLANTED),
    "call's title": lambda told: told.answer().call("bash", {}, "", title=PLANTED),
    "diff": lambda told: told.answer().call("edit", {}, "", metadata={"diff": f"+{PLANTED}"}),
    "cleared output": lambda told: (
        told.answer().call("bash", {}, PLANTED).decide("clear", "r", 9, 1)
    ),
    "tool": lambda told: told.answer().call(f"tool {PLANTED}", {}, ""),
    "error of a call": lambda told: told.answer().part(
        type="tool",
        call_id="c",
        tool="bash",
        state={
            "status": "error",
            "input": {},
            "error": PLANTED,
            "time": {"start": 1},
            "metadata": {"output": PLANTED},
        },
    ),
    "error of an answer": lambda told: told.answer(error=ApiError(message=PLANTED)),
    "retry": lambda told: told.answer().part(
        type="retry", attempt=1, error=ApiError(message=PLANTED).model_dump(), time={"start": 1}
    ),
    "url": lambda told: told.prompt(
        "x",
        {
            "type": "file",
            "mime": "text/plain",
            "url": f"https://u:{VALUE}@example.org/{HOME}?k={KEY}",
        },
    ),
    "link": lambda told: told.answer().part(
        type="text", text=f"[x](https://example.org/?k={KEY}&v={VALUE})"
    ),
    "file's path": lambda told: told.prompt(
        "x", {"type": "file", "mime": "text/plain", "url": f"file://{HOME}/{KEY}.txt"}
    ),
    "file's name": lambda told: told.prompt(
        "x", {"type": "file", "mime": "text/plain", "filename": PLANTED, "url": "data:text/plain,x"}
    ),
    "text attachment": lambda told: told.prompt(
        "x", {"type": "file", "mime": "text/csv", "url": data_url("text/csv", PLANTED.encode())}
    ),
    "drawing": lambda told: told.prompt(
        "x",
        {
            "type": "file",
            "mime": "image/svg+xml",
            "url": data_url("image/svg+xml", f"<svg><!-- {PLANTED} --></svg>".encode()),
        },
    ),
    "picture": lambda told: told.answer().call(
        "python",
        {},
        "",
        attachments=[
            {"mime": "image/png", "url": data_url("image/png", picture() + PLANTED.encode())}
        ],
    ),
    "document": lambda told: told.answer().call(
        "read",
        {},
        "",
        attachments=[
            {
                "mime": "application/pdf",
                "url": data_url("application/pdf", b"%PDF\x00" + PLANTED.encode()),
            }
        ],
    ),
    "patch": lambda told: told.answer().part(type="patch", hash="h", files=[f"{HOME}/{KEY}"]),
    "subtask": lambda told: told.prompt(
        "x", {"type": "subtask", "prompt": PLANTED, "description": PLANTED, "agent": PLANTED}
    ),
    "agent": lambda told: told.prompt("x", {"type": "agent", "name": PLANTED}),
}


@pytest.mark.parametrize("place", PLACES)
def test_keys_and_home_folders_are_taken_out(place: str) -> None:
    session = SampleSession(title=PLANTED if place == "title" else "Penguins")
    PLACES[place](session)

    made = shown(session)

    assert clean(made)
    assert clean(PLANTED) is False
    seen = "[redacted]" in made or "holds what looks like a key" in made
    assert seen or place == "drawing", "it is told, without what must not be told"


def test_keys_in_todos_and_facts_are_taken_out() -> None:
    session = SampleSession()
    session.session = session.session.model_copy(update={"notebook": PLANTED, "directory": PLANTED})
    session.events[0] = session.events[0].model_copy(update={"session": session.session})
    session.events.append(
        everything().events[-1].model_copy(update={"todos": (Todo(content=PLANTED),)})
    )

    assert clean(shown(session))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ada/x.py", "~/x.py"),
        ("see /Users/ada.l-b/x, /root/.ssh and /root", "see ~/x, ~/.ssh and ~"),
        (r"C:\Users\Ada\x and C:\\Users\\Ada\\x", r"~\x and ~\\x"),
        ("file:///home/ada/x", "file://~/x"),
        ("https://example.org/home/ada", "https://example.org/home/ada"),
        ("the root of /homework and a/root", "the root of /homework and a/root"),
        ("/var/home/ada/x /srv/data/ada", "~/x /srv/data/ada"),
        ("/mnt/people/ada/x /mnt/people/adam", "~/x /mnt/people/adam"),
    ],
)
def test_home_folders_are_known_by_where_they_are(text: str, expected: str) -> None:
    made = with_home_folders_hidden(text, ["/mnt/people/ada"])

    assert made == expected
    assert with_home_folders_hidden(made, ["/mnt/people/ada"]) == made


class Tags(html.parser.HTMLParser):
    """Collects every tag with its attributes, and checks that all of them are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img", "br", "hr", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    told = everything()
    told.answer().part(
        type="text",
        text='<img src="https://example.org/x.png"> ![x](https://example.org/y.png) <b onclick="x()">',
    )
    tags = Tags()
    tags.feed(shown(told))

    assert tags.open == []
    assert {tag for tag, _ in tags.tags} <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "div",
            "header",
            "main",
            "footer",
            "nav",
        ),
        *(
            "section",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "p",
            "dl",
            "dt",
            "dd",
            "ol",
            "ul",
            "li",
            "a",
        ),
        *(
            "details",
            "summary",
            "pre",
            "code",
            "span",
            "b",
            "strong",
            "em",
            "time",
            "figure",
            "img",
        ),
        *("figcaption", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "svg", "rect"),
    }
    for tag, attributes in tags.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("src") or "data:").startswith("data:"), tag
    assert ("meta", "default-src 'none'") in {
        (tag, str(attributes.get("content")).partition(";")[0]) for tag, attributes in tags.tags
    }


def test_the_page_says_what_it_is_and_when_it_was_made() -> None:
    made = shown(everything())

    assert "A copy of one conversation with the Palimpsest agent, as it was on 20" in made
    for words in (
        "from session ses_a",
        "2026-09-21 14:13 UTC",
        "8,000, 3,200 of them cached",
        "at least $0.037",
    ):
        assert words in made
    assert "2, answered in 4 steps" in made


def test_everything_that_was_said_and_done_is_on_the_page() -> None:
    made = shown(everything())

    for words in (
        "Look at <code>penguins.csv</code>",
        "<em>Briefly</em>",
        "<summary>Thought for 3.2 s</summary>",
        "<td>Adelie</td>",
        '<span class="added">+plt.scatter(x, y, s=4)</span>',
        "No rule to make target",
        "Adelie,152",
        'alt="figure 1.png"',
        "A summary of earlier messages",
        "Summary of what came before",
        "Todo list: 2 of 4 done",
        "The provider is busy",
        "The provider answered with an error.",
        "&lt;script&gt;alert(",
    ):
        assert words in made, words


def test_what_was_cleared_lies_under_its_strip() -> None:
    made = shown(everything())

    _, strip, after = made.partition('<details class="under"><summary>')
    assert strip
    assert after.startswith("Cleared for the model: 2,000 → 12 tokens")
    assert "   59  a line of a long file" in after.partition("</details>")[0]


def test_a_long_text_comes_from_where_the_store_keeps_it(store: JsonlStore) -> None:
    told = SampleSession().prompt("Go on").answer()
    blob = store.put_blob(b"first line\n" + b"a line\n" * 300 + b"last line\n")
    told.call("bash", {"command": "go"}, "first line\n[... left out ...]", blob=blob.model_dump())
    told.write(store)

    made = "".join(page_html(store, SESSION, {}))

    assert "last line" in made
    assert "left out ..." not in made


def test_what_does_not_fit_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_page, "MAX_ATTACHMENT_BYTES", 3_000)
    monkeypatch.setattr(share_page, "MAX_ATTACHMENTS_BYTES", 4_000)
    session = SampleSession().prompt("Look")
    for name, size in (("one", 2_500), ("big", 5_000), ("two", 2_500), ("last", 900)):
        url = data_url("application/zip", b"\x00" * size)
        session.part(type="file", mime="application/zip", filename=f"{name}.zip", url=url)
    session.part(type="file", mime="image/png", filename="gone.png", url="blob:" + "0" * 64)
    session.part(type="file", mime="text/html", filename="far", url="https://example.org/far.html")
    session.answer().call("bash", {"command": "go"}, "word\n" * 20_000)

    made = shown(session)

    assert 'download="one.zip"' in made
    assert "big.zip (application/zip): 5.0 kB are too many for this page" in made
    assert "two.zip (application/zip): this page holds as many attachments as it can" in made
    assert 'download="last.zip"' in made
    assert "gone.png (image/png): its content is gone" in made
    assert "it was not kept with the session; it is at https://example.org/far.html" in made
    assert "Attachments that are not on this page: 4." in made
    assert "of this call are not on this page." in made


def test_the_page_has_a_name_that_nobody_guesses_and_is_for_the_user_alone(
    store: JsonlStore, tmp_path: Path
) -> None:
    session = everything().write(store)

    record = make_page(store, session, {})
    shared = session.model_copy(update={"share": record})
    again = make_page(store, shared, {})

    assert record == again, "the name stays"
    assert make_page(store, session, {})["secret"] != record["secret"]
    path = tmp_path / record["url"]
    assert path == page_path(store, shared)
    assert len(record["secret"]) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(file.suffix for file in path.parent.iterdir()) == [".html", ".html"], (
        "no scratch file"
    )


def test_a_page_that_is_taken_back_is_gone(store: JsonlStore) -> None:
    session = everything().write(store)
    shared = session.model_copy(update={"share": make_page(store, session, {})})

    assert remove_page(store, shared)
    assert page_path(store, shared) is None
    assert not remove_page(store, shared)


def test_a_record_that_names_another_file_removes_nothing(
    store: JsonlStore, tmp_path: Path
) -> None:
    other = tmp_path / "a-file-of-the-user-s-own.html"
    other.write_text("mine")
    (tmp_path / ".palimpsest" / "share").mkdir()
    session = everything().session.model_copy(
        update={"share": {"secret": "../../a-file-of-the-user-s-own", "session": SESSION}}
    )

    assert not remove_page(store, session)
    assert other.read_text() == "mine"


def test_a_fork_has_a_page_of_its_own(store: JsonlStore) -> None:
    session = everything().write(store)
    shared = session.model_copy(update={"share": make_page(store, session, {})})
    forked = SampleSession(session_id="ses_fork").write(store)
    fork = forked.model_copy(update={"share": shared.share})

    assert page_path(store, fork) is None
    assert not remove_page(store, fork)
    assert make_page(store, fork, {})["secret"] != (shared.share or {})["secret"]
    assert page_path(store, shared) is not None


def test_a_kernel_that_keeps_nothing_says_how_to_get_a_page() -> None:
    store = MemoryStore()
    session = everything().write(store)

    with pytest.raises(UserError, match="agent export html"):
        make_page(store, session, {})


def test_a_page_that_fails_half_way_leaves_the_old_one(
    store: JsonlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = everything().write(store)
    path = tmp_path / "page.html"
    write_page(store, session.id, path, {})
    before = path.read_bytes()
    monkeypatch.setattr(share_page, "page_html", lambda *_: iter(["half", 1]))

    with pytest.raises(TypeError):
        write_page(store, session.id, path, {})

    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.soak  # with each commit a long text comes from where the store keeps it, above; this adds the memory of a long session
@pytest.mark.slow
def test_a_long_session_needs_little_more_memory_than_its_log(
    store: JsonlStore, tmp_path: Path
) -> None:
    writer = store.acquire(SESSION, OWNER, create=True)
    turns = sample_size(80, 500)
    writer.append(records(long_session(turns)))
    writer.close()
    log = sum(path.stat().st_size for path in (tmp_path / ".palimpsest").rglob("*.jsonl"))

    tracemalloc.start()
    try:
        write_page(store, SESSION, tmp_path / "page.html", {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert log > turns * 10_000
    assert (tmp_path / "page.html").stat().st_size > turns * 10_000
    assert peak < 1.5 * log + 4_000_000


def test_times_that_are_none_are_said_to_be_unknown() -> None:
    session = SampleSession()
    session.session = session.session.model_copy(
        update={"time": session.session.time.model_copy(update={"created": BEGUN * 10**9})}
    )
    session.events[0] = session.events[0].model_copy(update={"session": session.session})

    assert "unknown" in shown(session)
