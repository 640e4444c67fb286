"""Arguments of the Python API are checked before anything is stored or sent, with a clear error."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.app.wiring import App
from palimpsest.project import problems, prune, sessions
from palimpsest.public.session_object import Session, open_session
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import PermissionAsked
from palimpsest.transcript.values import Reply

ENVIRONMENT = {"PALIMPSEST_REHEARSAL_DELAY": "0"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("asking")
    made = App(start=folder, overrides={"model": "rehearsal/rules"}, environment=ENVIRONMENT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def session(app: App) -> Session:
    return open_session(app)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no words": (lambda s: s.start("  \n"), "There is no prompt."),
    "words that are none": (lambda s: s.start(None), "There is no prompt."),
    "a misspelt option": (
        lambda s: s.start("Hi", modle="x"),
        "takes no option 'modle'. Did you mean model?",
    ),
    "an unknown option": (lambda s: s.start("Hi", zzz=1), "no option 'zzz'. There are model,"),
    "a model that is no text": (lambda s: s.start("Hi", model=4), "model is a text, not 4."),
    "tools as one text": (
        lambda s: s.start("Hi", tools="read"),
        "tools is a list of the names to offer, such as ['read', 'grep'],",
    ),
    "no step at all": (
        lambda s: s.start("Hi", max_steps=0),
        "max_steps is a whole number of at least 1, not 0.",
    ),
    "steps in words": (lambda s: s.start("Hi", max_steps="two"), "not 'two'."),
    "another delivery": (
        lambda s: s.start("Hi", delivery="fast"),
        "delivery is 'steer' or 'queue', not 'fast'.",
    ),
    "a reply that is none": (
        lambda s: s.reply("ask_1", "yes"),
        "The answer is 'once', 'always' or 'reject', not 'yes'.",
    ),
    "an answer that is none": (lambda s: s.answer("que_1", 5), "not 5."),
    "dollars as a text": (lambda s: s.control.set_budget(usd="2"), "is more than nothing"),
    "half a token": (lambda s: s.control.set_budget(tokens=1.5), "is more than nothing"),
    "endless dollars": (lambda s: s.control.set_budget(usd=float("inf")), "is more than nothing"),
    "endless tokens": (lambda s: s.control.set_budget(tokens=10**400), "is more than nothing"),
    "days as a text": (lambda _: prune(days="x"), "'x' is not a number of days from 0 on."),  # type: ignore[arg-type]
    "a size that is none": (lambda _: prune(max_size=[1]), "[1] is not a size."),  # type: ignore[arg-type]
    "a page of nothing": (lambda _: sessions(limit=0), "A page has at least one session"),
}


def _done(made: Any) -> None:
    """Wait for a result that is a future."""
    if isinstance(made, Future):
        made.result(LAST_RESORT_SECONDS)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_sentence(session: Session, case: str) -> None:
    call, words = REFUSED[case]
    before = session.snapshot.seq

    with pytest.raises(UserError) as refused:
        _done(call(session))

    assert words in str(refused.value)
    assert session.snapshot.seq == before


def test_a_question_is_answered_by_a_word(session: Session) -> None:
    asked: list[str] = []

    def answer(records: Any) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                asked.append(record.event.ask.id)
                assert session.reply(record.event.ask.id, "reject", "Not now.")
                assert not session.reply(record.event.ask.id, Reply(answer="once"))

    end = session.subscribe(answer)
    session.start("Run the shell command `ls`", tools=["bash"]).result(LAST_RESORT_SECONDS)
    end()

    (ask_id,) = asked
    assert ask_id not in {ask.id for ask in session.asks}


@pytest.mark.filterwarnings("error")
def test_a_closed_application_says_so(tmp_path: Path) -> None:
    app = App(start=tmp_path, overrides={"model": "rehearsal/rules"}, environment=ENVIRONMENT)
    session = open_session(app)
    app.close()

    with pytest.raises(UserError, match=r"This agent was closed\."):
        session.start("Hello?")
    calls: tuple[Callable[[], object], ...] = (
        lambda: session.retitle("Hello"),
        lambda: session.pin("last"),
        session.cancel,
        lambda: session.withdraw("pmt_1"),
        lambda: session.subscribe(print),
        session.fork,
        session.loop,
        session.connect_servers,
    )
    for call in calls:
        with pytest.raises(UserError, match=r"This agent was closed\."):
            call()
    assert (session.messages, session.status.type) == ((), "idle")


def test_a_script_goes_on_with_the_session_of_its_folder(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()

    def run(folder: Path) -> App:
        return App(start=folder, overrides={"model": "rehearsal/rules"}, environment=ENVIRONMENT)

    first = run(tmp_path)
    session = open_session(first)
    session.prompt("Hello.")
    other = run(tmp_path)
    beside = open_session(other).id
    other.close()
    elsewhere = run(below)
    inside = open_session(elsewhere).id
    elsewhere.close()
    first.close()
    again = run(tmp_path)
    found = open_session(again)

    assert len({session.id, beside, inside}) == 3
    assert found.id in (session.id, beside)
    again_asked = found.prompt("Hello again.")
    again.close()
    once_more = run(tmp_path)
    assert open_session(once_more).id == found.id
    assert again_asked.turn_id in {message.id for message in open_session(once_more).messages}
    once_more.close()


def test_a_configured_model_that_is_none_is_listed_with_why(tmp_path: Path) -> None:
    app = App(start=tmp_path, overrides={"model": "nobody"}, environment=ENVIRONMENT)

    listed = {name: because for name, _, because in app.models()}
    app.close()

    assert "rehearsal/rehearsal" in listed
    assert "There is no model 'nobody'." in listed["nobody"]


def test_a_hook_that_cannot_be_loaded_is_said_for_as_long_as_it_is_so(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('model = "rehearsal/rules"\nhooks = ["no_such_module:hook"]\n')
    app = App(start=tmp_path, environment={**ENVIRONMENT, "PALIMPSEST_CONFIG": str(own)})
    session = open_session(app)
    before = problems()

    session.start("Hello.").result(LAST_RESORT_SECONDS)
    after = problems()
    app.close()

    assert "The hook 'no_such_module:hook'" in before[0]
    assert after == before


def test_what_was_sent_a_moment_ago_is_stopped_or_taken_back(session: Session) -> None:
    first = session.start("Hello.")
    stopped = session.cancel()
    answer = first.result(LAST_RESORT_SECONDS)
    second = session.start("Hello.")
    busy = session.status.type
    third = session.start("And again.", prompt_id="again")
    waiting = [prompt.prompt_id for prompt in session.waiting]
    withdrawn = session.withdraw("again")

    assert stopped
    assert answer.error is not None
    assert answer.error.type == "aborted"
    assert (busy, waiting) == ("busy", ["again"])
    assert withdrawn
    assert third.result(LAST_RESORT_SECONDS).turn_id == ""
    assert second.result(LAST_RESORT_SECONDS).error is None
    assert not session.cancel()
