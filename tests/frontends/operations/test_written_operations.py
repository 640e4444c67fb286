"""What stands behind ``%agent`` is read as an operation's value, or is a prompt that begins with the same word."""

from pathlib import Path

import pytest

from palimpsest.frontends.cell_turn.magic_line import MagicLine
from palimpsest.frontends.magic.line_parser import OptionError, parse_line
from palimpsest.frontends.operation_base.operation import Operation
from palimpsest.frontends.operations.context import ApplyContextEdit, ListParts, UsePolicy
from palimpsest.frontends.operations.controls import (
    ListApprovals,
    SetBudget,
    SetMode,
    TrustProject,
    TrustSession,
)
from palimpsest.frontends.operations.extensions import ListExtensions
from palimpsest.frontends.operations.reverts import ExplainCell, Revert, ReviewCells
from palimpsest.frontends.operations.sessions import (
    Archive,
    Delete,
    Fork,
    ListBranches,
    ListChildren,
    ListSessions,
    OpenSession,
    Retitle,
)
from palimpsest.frontends.operations.sharing import Export, Import, Share, Unshare
from palimpsest.frontends.operations.status import ListSettings, SwitchReplay
from palimpsest.frontends.operations.step_mode import (
    AskForAnotherSummary,
    ReleaseRequest,
    SetStepMode,
)
from palimpsest.frontends.operations.storage import ShowStorage
from palimpsest.frontends.operations.turns import Cancel, Withdraw

SESSION = "ses_ffe5af0b2d7ffffeAbcdefghij"
PIECE = "4udZJUxVtt"


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("sessions", ListSessions(limit=30)),
        ("sessions two words --all", ListSessions(words="two words", archived=None, children=True, limit=30)),
        ("sessions a --archived --page 3", ListSessions(words="a", archived=True, number=3, limit=30)),
        (f"open {SESSION}", OpenSession(session=SESSION)),
        ("use ses_ffe5", OpenSession(session="ses_ffe5")),
        ("why", ExplainCell()),
        ("why 4", ExplainCell(cell="4")),
        ("why cell [4]", ExplainCell(cell="4")),
        ("why cell a1b2-c3", ExplainCell(cell="a1b2-c3")),
        ("review", ReviewCells()),
        ("review accept", ReviewCells(all="accept")),
        ("review accept 2", ReviewCells(all="accept", number=2)),
        ("review reject all 'not this way'", ReviewCells(all="reject", reason="not this way")),
        ('review reject 3 "no"', ReviewCells(all="reject", number=3, reason="no")),
        ("title", Retitle()),
        ("title Penguins  by island", Retitle(title="Penguins  by island")),
        ("archive", Archive()),
        (f"unarchive {SESSION}", Archive(session=SESSION, archived=False)),
        (f"delete {SESSION}", Delete(session=SESSION, preview=True)),
        (f"delete {SESSION} --yes", Delete(session=SESSION)),
        ("fork", Fork()),
        (f"fork {SESSION} at {PIECE}", Fork(session=SESSION, message=PIECE)),
        (f"fork at {PIECE}", Fork(message=PIECE)),
        ("fork at request 3", Fork(request=3)),
        ("fork at request -2", Fork(request=-2)),
        ("children", ListChildren()),
        (f"branches {SESSION}", ListBranches(session=SESSION)),
        ("stop", Cancel()),
        ("withdraw", Withdraw()),
        ("withdraw all", Withdraw(which="all")),
        ("replay off", SwitchReplay(on="off")),
        ("pin", ListParts(action="pin")),
        ("pin last", ApplyContextEdit(action="pin", target="last")),
        ("unpin last", ApplyContextEdit(action="unpin", target="last")),
        ("restore summary", ApplyContextEdit(action="restore", target="summary")),
        (f"exclude prt_{PIECE}", ApplyContextEdit(action="exclude", target=f"prt_{PIECE}")),
        ("policy", UsePolicy()),
        ("policy default", UsePolicy(words=("default",))),
        ("policy a prune.placeholder='[gone by now]' n=3", UsePolicy(words=("a", "prune.placeholder='[gone by now]'", "n=3"))),
        ("revert", Revert(action="revert")),
        ("revert abcd1234 --preview", Revert(action="preview", target="abcd1234")),
        ("revert --overwrite=a.txt,b.txt", Revert(action="revert", overwrite=("a.txt", "b.txt"), in_conflict=True)),
        ("unrevert --overwrite=a.txt", Revert(action="unrevert", overwrite=("a.txt",))),
        ("diff last", Revert(action="diff", target="last")),
        ("mode", SetMode()),
        ("mode accept edits", SetMode(mode="accept edits")),
        ("permissions", ListApprovals()),
        ("permissions revoke 1 2", ListApprovals(revoke=(1, 2))),
        ("permissions revoke all", ListApprovals(revoke=())),
        ("budget", SetBudget(tell=True)),
        ("budget 2usd", SetBudget(usd=2.0)),
        ("budget $2.50 500k tokens", SetBudget(usd=2.5, tokens=500_000)),
        ("budget off", SetBudget()),
        ("trust session", TrustSession(what="session")),
        ("config", ListSettings()),
        ("config distrust", TrustProject(trusted=False)),
        ("step", SetStepMode()),
        ("step on", SetStepMode(on=True)),
        ("step send", ReleaseRequest()),
        ("step another", AskForAnotherSummary()),
        ("mcp connect", ListExtensions(kind="mcp", connect=True)),
        ("storage", ShowStorage()),
        ("storage prune --days 30 --max-size 1.5GB --yes", ShowStorage(prune=True, days=30.0, max_size=1_500_000_000, delete=True)),
        ("share", Share()),
        ("unshare", Unshare()),
        ("export", Export()),
        ("export notebook", Export(form="ipynb")),
        ("export notes.html", Export(path="notes.html")),
        ('export md "my notes.md"', Export(form="md", path="my notes.md")),
        ("import ~/storage", Import(path="~/storage")),
    ],
)  # fmt: skip
def test_a_line_is_read_as_an_operation(line: str, operation: Operation) -> None:
    assert parse_line(line) == operation


@pytest.mark.parametrize(
    "line",
    [
        "delete the last row of the table",
        "open the file penguins.csv",
        "archive old files",
        "review my code",
        "why is the plot of cell 4 empty",
        "why cell 4 failed",
        "review reject the null hypothesis",
        "fork the repository into two",
        "children in the data frame",
        "storage of the data",
        "pin the legend to the left",
        "restore the old colours",
        "policy of the project, please",
        "policy x = 3 is what?",
        "revert the change in a.py",
        "diff the two files",
        "cleanup the names",
        "mode of the distribution, please",
        "permissions of the file data.csv are wrong",
        "budget for 2026 is what?",
        "budget of 2026, as a table",
        "config of the build, please",
        "share your thoughts",
        "export the table as csv",
        "export df to a csv",
        "import numpy and scipy",
        "import pandas as pd.",
    ],
)
def test_what_a_person_says_with_the_same_word_is_a_prompt(line: str) -> None:
    assert parse_line(line) == MagicLine(prompt=line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("unrevret", "Did you mean %agent unrevert"),
        ("unpim", "Did you mean %agent unpin"),
        ("policx", "Did you mean %agent policy"),
        ("import", "Write %agent import PATH"),
        ('export "a.md', "A quote in the path never ends"),
        ("open", "%agent sessions lists them"),
        ("sessions --page x", "--page needs a number"),
        ("sessions --old", "Known: --all, --archived, --page N"),
        ("storage prune --days soon", "--days needs a number of days"),
        ("storage prune --all", "Known: --days N, --max-size 1GB, --yes"),
        ("budget -1usd", "is no amount"),
        ("budget 1usd 2 usd", "is no amount"),
        ("budget " + "9" * 400 + " tokens", "is no amount"),
        ("permissions revoke", "Which one?"),
        ("title " + "x" * 1_001, "%agent title: title"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(line: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_line(line)

    assert words in str(caught.value)


def test_what_is_there_can_be_imported_under_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="%agent import does not take 'out'"):
        parse_line("import out")

    (tmp_path / "out").mkdir()

    assert parse_line("import out") == Import(path="out")
    assert parse_line("import out and look at it") == MagicLine(prompt="import out and look at it")
