"""Turns of every common kind, as a scripted model answers: what tests of the rows, and pictures, are taken of.

What each turn holds is known here, so that a test can look for all of it on the page.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab
from tests.e2e.running_notebook import Notebook, begin

from palimpsest.model.script import (
    ModelAnswer,
    Say,
    ScriptedCall,
    Think,
    calls,
    fails,
    says,
    thinks,
)

PANEL = "#jupyter-palimpsest-panel"
TASKS = """from palimpsest.tools.workflow.task import TaskTool
harness.services.agents.registry.register(TaskTool(lambda: [("explore", "Finds things.")]))"""
PENGUINS = """import pandas as pd
penguins = pd.DataFrame({"species": ["Adelie", "Gentoo", "Chinstrap"], "island": ["Torgersen", "Biscoe", "Dream"],
                         "body_mass_g": [3706.4, 4716.0, 3712.9]})"""


@dataclass(frozen=True)
class RecordedTurn:
    """A turn as a scripted model answers, and the rows that it may take beside its text."""

    name: str
    prompt: str
    answers: tuple[ModelAnswer, ...]
    works: str = ""
    """What its row of work says; empty if it has none."""
    acts: int = 0
    """How many calls have a row of their own."""
    notices: int = 0
    """How many lines tell of errors, stops, compactions and changes of several files."""
    outputs: tuple[str, ...] = ()
    """What its calls returned."""
    ends: str = "by itself"
    """How the turn ends: by itself, with a refused call, or stopped."""
    before: tuple[ModelAnswer, ...] = ()
    """Answers to the prompts of turns before it."""
    others: int = 0
    """How many of its answers are no steps of its own: a subagent's, whose session shows them, and a summary."""
    needs: str = ""
    """Code that the kernel runs first."""
    snapshots: bool = False
    yes: bool = True
    """Whether its questions are answered by the cell."""

    @property
    def rows(self) -> int:
        """How many rows it may take: one of work, one an act, its notices, and one below."""
        return (self.works != "") + self.acts + self.notices + 1

    @property
    def steps(self) -> int:
        """How many requests it takes."""
        return sum(answer.failure is None for answer in self.answers) - self.others

    @property
    def parts(self) -> list[str]:
        """All that it holds and that must be found: words, thoughts, inputs, outputs, and figures of steps."""
        found = list(self.outputs)
        for answer in self.answers:
            for action in answer.actions:
                match action:
                    case Say(text=text) | Think(text=text):
                        found.append(plain(text))
                    case ScriptedCall(raw=raw):
                        found += [
                            plain(value) for value in re.findall(r': "((?:[^"\\]|\\.)*)"', raw)
                        ]
        return [*found, *(f"step {number + 1}" for number in range(self.steps))]


def plain(text: str) -> str:
    """Return the longest piece of a text that looks the same as source and drawn."""
    lines = text.replace("\\n", "\n").replace('\\"', '"')
    return max(re.findall(r"\w[\w ,./()=-]+|\S", lines), key=len)


def looks(count: int) -> tuple[ModelAnswer, ...]:
    """Return the answers of a turn that looks at files one after the other."""
    reads = [calls("read", path=f"file{number}.txt") for number in range(count)]
    return (*reads, says("They all hold a number."))


MARKDOWN = """## What the table holds

The three species differ in mass, and each lives on an island of its own in this extract. **Gentoo** penguins
are about a kilogram heavier than the others; the means below are over the birds whose sex is known.

| species | island | body mass (g) |
|---|---|---:|
| Adelie | Torgersen | 3,706.4 |
| Gentoo | Biscoe | 4,716.0 |
| Chinstrap | Dream | 3,712.9 |

This makes the table again:

```python
means = penguins.groupby(["species", "island"])["body_mass_g"].mean()
means.round(1).reset_index()
```

1. `groupby` keeps the islands apart.
2. `reset_index` makes columns of the groups.
"""
PLOT = """import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(4, 2))
ax.bar(penguins.species, penguins.body_mass_g)
plt.show()
penguins.groupby("island")[["body_mass_g"]].mean()"""
OLDER = "The rows come from data/penguins.csv, by load_penguins; the mean of body_mass is 4201.75. "
SUMMARY = "## Goal\nKnow the penguins.\n\n## State\n" + "- load_penguins reads the rows\n" * 12

TURNS = (
    RecordedTurn(
        "penguins",
        "What is in @penguins?",
        (
            thinks("I look at the columns first.").calls("variables", name="penguins"),
            thinks("A note lies beside it.").calls("read", path="file0.txt"),
            thinks("Now the mean.").calls("python", code="penguins.body_mass_g.mean().round(1)"),
            says("It holds three **species** on three islands, with a mean of 4,045 g.").reports(
                input=240, cache_read=2_100, output=40
            ),
        ),
        works="looked at penguins, file0.txt · thought",
        acts=1,
        outputs=("4045.1", "file 0 holds"),
    ),
    RecordedTurn(
        "four-looks",
        "What do the files hold?",
        looks(4),
        works="looked at 4 files",
        outputs=tuple(f"file {number} holds" for number in range(4)),
    ),
    RecordedTurn(
        "ten-calls",
        "And all ten of them?",
        looks(10),
        works="looked at 10 files",
        outputs=tuple(f"file {number} holds" for number in range(10)),
    ),
    RecordedTurn(
        "mended",
        "Write a report on the last of the penguins.",
        (
            calls("read", path="file1.txt"),
            calls("python", code="penguin.tail(1)"),
            calls("python", code="penguins.tail(1).island"),
            calls("write", path="report.md", content="# Penguins\nThe last one is from Dream.\n"),
            says("The report is written."),
        ),
        works="looked at file1.txt · 1 failed, then mended",
        acts=2,
        outputs=("name 'penguin' is not defined", "file 1 holds", "Dream"),
    ),
    RecordedTurn(
        "refused",
        "Write the mean into out/report.md",
        (
            calls("read", path="file2.txt"),
            calls("list", path="."),
            calls("write", path="out/report.md", content="The mean is 4,045 g.\n"),
            says("I leave the file as it is, and keep to data/ from now on."),
        ),
        works="looked at file2.txt · searched once",
        acts=1,
        outputs=("file 2 holds", "Use data/report.md."),
        ends="with a refused call",
        yes=False,
    ),
    RecordedTurn(
        "stopped",
        "Wait for the file",
        (
            calls("read", path="file3.txt"),
            calls("glob", pattern="*.csv"),
            says("I wait for it.").calls("python", code="import time\ntime.sleep(600)"),
        ),
        works="looked at file3.txt · searched once",
        acts=1,
        notices=1,
        outputs=("file 3 holds",),
        ends="stopped",
    ),
    RecordedTurn(
        "markdown",
        "Explain the table, with the code that makes it.",
        (
            calls("variables", name="penguins"),
            thinks("A table, and the code for it.").says(MARKDOWN),
        ),
        works="looked at penguins · thought",
        outputs=("Chinstrap",),
    ),
    RecordedTurn(
        "figure",
        "Plot the mass of each species, and tabulate it by island.",
        (
            calls("variables", name="penguins"),
            calls("python", code=PLOT),
            says("Gentoo penguins, on Biscoe, are a kilogram heavier than the others."),
        ),
        works="",
        acts=2,
        outputs=("4716.0",),
    ),
    RecordedTurn(
        "compaction",
        "Go on with the mean.",
        (
            calls("read", path="file4.txt"),
            calls("grep", pattern="holds").reports(input=97_000, output=20),
            says(SUMMARY),
            says("The mean of body_mass is 4,201.75 g, over all rows."),
        ),
        works="looked at file4.txt · searched once",
        notices=1,
        outputs=("file 4 holds",),
        before=(says(OLDER * 60), says("Two."), says("Three.")),
        needs="%agent policy overflow.rule=opencode-1.18",
        others=1,
    ),
    RecordedTurn(
        "task",
        "Where are the penguins loaded?",
        (
            calls(
                "task",
                description="Find the loader",
                prompt="Where are they loaded?",
                agent="explore",
            ),
            calls("glob", pattern="*.py").calls("grep", pattern="read_csv"),
            says("They are loaded in load.py, line 3."),
            says("`load.py` loads them, in line 3."),
        ),
        acts=1,
        outputs=("agent explore", "line 3"),
        needs=TASKS,
        others=2,
    ),
    RecordedTurn(
        "edits",
        "Rename the column in all three files.",
        (
            calls("read", path="file5.txt")
            .calls("read", path="file6.txt")
            .calls("read", path="file7.txt"),
            calls("edit", path="file5.txt", old="holds", new="contains"),
            calls("edit", path="file6.txt", old="holds", new="contains"),
            calls("edit", path="file7.txt", old="holds", new="contains"),
            says("All three say *contains* now."),
        ),
        works="looked at 3 files",
        acts=3,
        notices=1,
        outputs=("file 5 holds", "file 6 holds", "file 7 holds", "+file 7 contains"),
        snapshots=True,
    ),
    RecordedTurn(
        "failed",
        "How many rows are there?",
        (
            calls("variables", name="penguins"),
            calls("read", path="file8.txt"),
            fails(400, "The request is wrong."),
        ),
        works="looked at penguins, file8.txt",
        notices=1,
        outputs=("file 8 holds", "The request is wrong."),
    ),
)


def script(*answers: ModelAnswer) -> str:
    """Return code by which a kernel's agent gets a model with these answers."""
    return f"from palimpsest.model.script import *\nharness.script(*{answers!r})"


def play(page: Page, lab: Lab, turn: RecordedTurn) -> tuple[Notebook, int]:
    """Run a turn in a notebook of its own, with the panel beside it; return it, and the number of the turn's cell."""
    for number in range(10):
        text = f"file {number} holds {number * 7}\n"
        (lab.folder / f"file{number}.txt").write_text(text, encoding="utf-8")
    Path(lab.folder / "report.md").unlink(missing_ok=True)
    first = f"{PENGUINS}\n{turn.needs}\n{script(*turn.before, *turn.answers)}"
    older = [f"%%agent\nQuestion {number + 1}" for number in range(len(turn.before))]
    asked = f"%%agent{' -y' if turn.yes else ''}\n{turn.prompt}"
    notebook = begin(page, lab, f"turn-{turn.name}", first, *older, asked, snapshots=turn.snapshots)
    last = len(older) + 2
    for cell in range(1, last):
        notebook.run(cell)
    page.evaluate("window.jupyterapp.commands.execute('jupyter-palimpsest:open-panel')")
    notebook.run(last, wait=False)
    panel = page.locator(PANEL)
    match turn.ends:
        case "with a refused call":
            panel.get_by_role("button", name="Reject…").click()
            panel.get_by_role("textbox", name="What should it do instead?", exact=False).fill(
                "Use data/report.md."
            )
            panel.get_by_role("button", name="Reject", exact=True).click()
        case "stopped":
            expect(panel.locator(".plm-Tool[data-state='running']").first).to_be_visible()
            panel.get_by_role("button", name="Stop", exact=True).click()
    notebook.ended()
    return notebook, last
