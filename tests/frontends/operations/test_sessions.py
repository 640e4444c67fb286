"""What the subcommands about sessions print."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Client, Kernel


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
