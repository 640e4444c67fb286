"""The subcommands about sessions: which lines are subcommands and which prompts, and what each prints."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Client, Kernel

from palimpsest.frontends.magic.line_parser import MagicLine, parse
from palimpsest.frontends.subcommands.sessions import read_query
from palimpsest.frontends.subcommands.storage import PruneOptions, read_prune
from palimpsest.session.records.session_search import Query
from palimpsest.transcript.errors import UserError

SESSION = "ses_ffe5af0b2d7ffffeAbcdefghij"


@pytest.mark.parametrize(
    ("line", "command", "argument"),
    [
        ("sessions", "sessions", ""),
        ("sessions penguins --all", "sessions", "penguins --all"),
        (f"open {SESSION}", "open", SESSION),
        ("title Penguins by island", "title", "Penguins by island"),
        ("archive", "archive", ""),
        (f"unarchive {SESSION}", "unarchive", SESSION),
        (f"delete {SESSION} --yes", "delete", f"{SESSION} --yes"),
        ("fork", "fork", ""),
        (f"fork {SESSION} at 4udZJUxVtt", "fork", f"{SESSION} at 4udZJUxVtt"),
        ("fork at 4udZJUxVtt", "fork", "at 4udZJUxVtt"),
        ("fork at request 3", "fork", "at request 3"),
        ("fork at request 0", "fork", "at request 0"),
        ("fork at request -2", "fork", "at request -2"),
        ("children", "children", ""),
        ("storage prune --days 30", "storage", "prune --days 30"),
    ],
)
def test_what_names_a_session_is_a_subcommand(line: str, command: str, argument: str) -> None:
    assert parse(line) == MagicLine(command=command, argument=argument)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "delete the last row of the table",
        "open the file penguins.csv",
        "archive old files",
        "fork the repository into two",
        "children in the data frame",
        "storage of the data",
    ],
)
def test_what_a_person_says_with_the_same_word_is_a_prompt(line: str) -> None:
    assert parse(line) == MagicLine(prompt=line)


def test_options_of_lists_and_of_storage_are_read() -> None:
    assert read_query("two words --archived --page 3") == Query(
        "two words", archived=True, number=3
    )
    assert read_query("--all") == Query(archived=None, children=True)
    assert read_prune("--days 30 --max-size 1.5GB --yes") == PruneOptions(
        30.0, 1_500_000_000, yes=True
    )
    for bad in ("--page x", "--old"):
        with pytest.raises(UserError):
            read_query(bad)
    for bad in ("--days soon", "--max-size much", "--all"):
        with pytest.raises(UserError):
            read_prune(bad)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        yield kernel.client


def ids(text: str) -> list[str]:
    return re.findall(r"ses_\w+", text)


def last(client: Client, line: str) -> str:
    """Run a line; return its last output, or the message of its error."""
    run = client.run(line)
    return run.markdown() if run.status == "ok" else str(run.reply["content"]["evalue"])


@pytest.mark.slow
def test_a_session_is_named_listed_forked_put_away_and_deleted(client: Client) -> None:
    client.run("%agent hello there")
    [first] = ids(last(client, "%agent sessions"))

    assert last(client, "%agent title Two words") == "This session is called Two words now."
    assert "Two words" in last(client, "%agent sessions TWO hello")
    assert "No session holds" in last(client, "%agent sessions nowhere")
    forked = last(client, "%agent fork")
    second = ids(forked)[0]
    assert "Two words (fork" in forked
    assert second != first
    listed = last(client, "%agent sessions")
    assert f"`* {second}`" in listed
    assert f"`{first}`" in listed
    assert "No task of this session" in last(client, "%agent children")

    assert f"Archived {second}" in last(client, "%agent archive")
    assert second not in last(client, "%agent sessions")
    assert "(archived)" in last(client, "%agent sessions --archived")
    assert "is listed again" in last(client, f"%agent unarchive {second}")
    assert f"now goes on with {second}" in last(client, f"%agent open {second}")

    looked = last(client, f"%agent delete {first}")
    assert "This would delete “Two words”" in looked
    assert first in last(client, "%agent sessions")
    piece = last(client, f"%agent delete {first[:-3]} --yes")
    assert piece == f"A session is deleted by its whole id. Is {first} meant?"
    assert first in last(client, "%agent sessions")
    assert "Deleted “Two words”" in last(client, f"%agent delete {first} --yes")
    assert ids(last(client, "%agent sessions")) == [second]
    assert "There is no session" in last(client, f"%agent open {first}")


@pytest.mark.slow
def test_storage_shows_what_sessions_take_and_prunes_only_with_yes(client: Client) -> None:
    client.run("%agent hello there")
    [first] = ids(last(client, "%agent sessions"))
    client.run("%agent --new hello again")

    shown = last(client, "%agent storage")
    assert "together" in shown
    assert first in shown
    assert "in use" in last(client, "%agent storage prune --days 0")
    assert first in last(client, "%agent sessions")
    assert "No session is over the limits" in last(client, "%agent storage prune --days 30 --yes")
