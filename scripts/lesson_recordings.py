"""Record the sessions of our own engine that lessons 6 and 8 look at, and pack them for the package.

The rehearsal model plays the scenarios below with real tools in a folder of its own: what is said and called is
written here, what the tools return is not. Summaries are the rehearsal's extracts, and the cache is simulated. Clock
and ids are fixed, so that the same requests are made each time; only how a stream is cut into pieces differs.
"""

import asyncio
import csv
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.harness.session import SessionHarness, ask
from tests.harness.step import Clock
from tests.harness.subagent_session import definitions
from tests.recordings.reconstruction.test_replay_laws import disk

from palimpsest.lessons.lesson_files import DATA_FOLDER
from palimpsest.model.interface import ModelRequest
from palimpsest.rehearsal.rehearsal_model import DELAY_VARIABLE, Rehearsal
from palimpsest.rehearsal.scenario import register_scenario
from palimpsest.session.definitions.project_definitions import register_definitions
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.workspace import Workspace
from palimpsest.store.interface import Owner
from palimpsest.store.project_folder.names import FOLDER
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.values import ModelInfo, ModelRef

WINDOW, OUTPUT_LIMIT = 64_000, 4_000
ANSWER_MS, PAUSE_MS = 4_000, 60_000
"""Milliseconds that a request takes, and that a person takes before the next prompt."""
FOLDER_NAME = "penguins"
ARCHIVE_TIME = (2026, 1, 1, 0, 0, 0)

Step = dict[str, Any]


def call(tool: str, **inputs: Any) -> Step:
    """Return a call of a tool, for a step of a scenario."""
    return {"tool": tool, "input": inputs}


def change(path: str, old: str, new: str) -> Step:
    """Return a call that replaces a text of a file."""
    return call("edit", path=path, edits=[{"old": old, "new": new}])


def step(says: str, *calls: Step) -> Step:
    """Return one answer of a scenario."""
    return {"says": says, **({"calls": list(calls)} if calls else {})}


# The project

SPECIES = {"Adelie": (3_700, 190), "Gentoo": (5_076, 217), "Chinstrap": (3_733, 196)}
ISLANDS = ("Torgersen", "Biscoe", "Dream")
BIRDS = 30


def raw_table() -> str:
    """Return measurements as they were typed: with missing values, and some masses in kilograms."""
    dice = random.Random(68)
    lines = ["id,species,island,flipper_mm,body_mass,season"]
    for number in range(1, BIRDS + 1):
        species = (*SPECIES,)[number % 3]
        mass, flipper = SPECIES[species]
        grams = round(dice.gauss(mass, 300) / 25) * 25
        shown = (
            "." if number % 13 == 0 else f"{grams / 1000:.3f}" if number % 8 == 0 else str(grams)
        )
        lines.append(
            f"P{number:03d},{species},{ISLANDS[number % 3]},{round(dice.gauss(flipper, 6))},{shown},{2023 + number % 3}"
        )
    return "\n".join(lines) + "\n"


NOTES = """# Field book

Torgersen was visited in 2024, Biscoe in 2025, Dream in 2023. Flippers were measured with ruler R-7, which reads 2 mm too
much since 14 January 2025; the table is not corrected for it.

A dot stands for a bird that was not weighed. Scale S-12 shows kilograms, all others grams: a mass below 10 is in
kilograms. Nest 41 was counted twice; bird P022 is the same as P021.

TODO: ask Anna for the coordinates of nests 17 and 23.

## Days

"""
WEATHER = (
    "The wind came from the south all day, and nobody could write outside of the tent.",
    "It was calm and bright, so that we went to both colonies before noon.",
    "Snow fell until the evening; only the nests beside the hut were seen.",
    "Fog lay over the bay, and the boat turned round at the first rocks.",
)
WORK = (
    "The flippers were measured twice by different people, and both times the same was read.",
    "One scale had got wet. It was dried over the stove and shows the right mass again.",
    "The chicks of the upper colony have left, and their parents moult beside the path.",
    "A skua took two eggs while we stood there. The parents came back an hour later.",
    "The rings of last season are worn; the birds were known by the marks on their feet.",
)


def field_book() -> str:
    """Return notes of some days, mostly words."""
    dice = random.Random(8)
    days = [f"Day {day}. {dice.choice(WEATHER)} {dice.choice(WORK)}" for day in range(1, 31)]
    return NOTES + "\n\n".join(days) + "\n"


FIRST_CODE = """import csv
import statistics

masses = {}
with open("data/raw.csv", newline="") as file:
    for row in csv.DictReader(file):
        masses.setdefault(row["species"], []).append(float(row["body_mass"]))
for species, values in sorted(masses.items()):
    print(species, len(values), round(statistics.mean(values), 1))
"""
WITHOUT_DOTS = """        if row["body_mass"] == ".":
            continue
        mass = float(row["body_mass"])
        masses.setdefault(row["species"], []).append(mass)
"""
IN_GRAMS = """        mass = float(row["body_mass"])
        if mass < 10:
            mass *= 1000
"""


def report() -> str:
    """Return the report that the scenario writes, with the means of the table."""
    masses: dict[str, list[float]] = {}
    for row in csv.DictReader(raw_table().splitlines()):
        if row["body_mass"] != ".":
            mass = float(row["body_mass"])
            masses.setdefault(row["species"], []).append(mass * 1000 if mass < 10 else mass)
    lines = [
        f"| {name} | {len(of)} | {statistics.mean(of):,.0f} |"
        for name, of in sorted(masses.items())
    ]
    head = "# Body mass\n\n| species | birds | mean in g |\n|---|---|---|\n"
    return head + "\n".join(lines) + "\n\nP022 is the same bird as P021 and is counted twice.\n"


CLEAN_CODE = """import csv

with open("data/raw.csv", newline="") as file, open("data/clean.csv", "w", newline="") as clean:
    rows = csv.DictReader(file)
    out = csv.DictWriter(clean, rows.fieldnames)
    out.writeheader()
    for row in rows:
        if row["body_mass"] == ".":
            continue
        mass = float(row["body_mass"])
        row["body_mass"] = round(mass * 1000 if mass < 10 else mass)
        out.writerow(row)
print("written")
"""
RULE = "Never touch data/raw.csv, which nobody can type again."


def write_project(root: Path) -> None:
    """Write the files that the sessions begin with."""
    (root / "data").mkdir(parents=True)
    (root / "notes").mkdir()
    (root / "data" / "raw.csv").write_text(raw_table())
    (root / "notes" / "fieldbook.md").write_text(field_book())


BEGINNING = (
    "These are measurements of penguins from three islands, typed from field books by four people over three seasons. I "
    "want a clean table of them in data/clean.csv, and the mean body mass of each species in report.md. {rule}Begin with a "
    "look at the files."
)

Turn = tuple[str, Sequence[Step]]
RUN = call("bash", command="python3 clean.py", description="Run clean.py")
TURNS: tuple[Turn, ...] = (
    (
        BEGINNING,
        [
            step(
                "I look at the folder and the table.",
                call("list"),
                call("read", path="data/raw.csv"),
            ),
            step(
                "There are 30 birds of three species. Some masses are dots, and some look like kilograms."
            ),
        ],
    ),
    (
        "What does notes/fieldbook.md say about missing values?",
        [
            step("I read it.", call("read", path="notes/fieldbook.md")),
            step(
                "A dot is a bird that was not weighed. Scale S-12 shows kilograms. P022 is the same bird as P021, and ruler "
                "R-7 reads 2 mm too much since 14 January 2025."
            ),
        ],
    ),
    (
        "Write clean.py with the mean mass of each species, and run it.",
        [
            step("", call("write", path="clean.py", content=FIRST_CODE)),
            step("", RUN),
            step(
                "It fails at a dot, as the field book says. I leave those birds out.",
                call("read", path="clean.py"),
            ),
            step(
                "",
                change(
                    "clean.py",
                    '        masses.setdefault(row["species"], []).append(float(row["body_mass"]))\n',
                    WITHOUT_DOTS,
                ),
            ),
            step("", RUN),
            step("It runs now. The means are far too low, since some masses are in kilograms."),
        ],
    ),
    (
        "Bring those to grams, please.",
        [
            step(
                "",
                change("clean.py", '        mass = float(row["body_mass"])\n', IN_GRAMS),
            ),
            step("", RUN),
            step("The masses are in grams now."),
        ],
    ),
    (
        "Search the notes for open points.",
        [
            step("", call("grep", pattern="TODO", path="notes")),
            step("One: Anna is to be asked for the coordinates of nests 17 and 23."),
        ],
    ),
    (
        "Write the means and the number of birds to report.md.",
        [
            step("", call("write", path="report.md", content=report())),
            step("The report is written. It says that P022 is counted twice."),
        ],
    ),
    (
        "{rule}Make data/clean.csv now, with masses in grams and without the dots.",
        [
            step("", call("write", path="make_clean.py", content=CLEAN_CODE)),
            step(
                "",
                call("bash", command="python3 make_clean.py", description="Make the clean table"),
            ),
            step("data/clean.csv is written, with the same columns."),
        ],
    ),
)
AFTER: tuple[Turn, ...] = (
    (
        "P022 is the same bird as P021. Take it out.",
        [
            step(
                "",
                call(
                    "bash", command="sed -i '/^P022,/d' data/{table}.csv", description="Remove P022"
                ),
            ),
            step("", call("grep", pattern="^P02[0-3]", path="data/{table}.csv")),
            step("P022 is gone from data/{table}.csv."),
        ],
    ),
    (
        "How many birds are left?",
        [
            step("", call("bash", command="wc -l data/{table}.csv", description="Count the lines")),
            step("One line is the head; each other line is a bird."),
        ],
    ),
)
"""What follows the summary. The scenario has no model that could remember: which table is changed is written here."""


def scenario(early: str, late: str, table: str) -> tuple[list[str], list[str], list[Step]]:
    """Return the prompts before and after the compaction, and the answers to all of them.

    ``early`` and ``late`` stand in the first prompt and in the last one before the compaction.
    """
    turns = [*TURNS, *AFTER]
    prompts = [prompt for prompt, _ in turns]
    prompts[0] = prompts[0].replace("{rule}", early)
    prompts[len(TURNS) - 1] = prompts[len(TURNS) - 1].replace("{rule}", late)
    steps = [answer for _, answers in turns for answer in answers]
    text = json.dumps(steps).replace("{table}", table)
    after = [prompt.replace("{table}", table) for prompt in prompts[len(TURNS) :]]
    return prompts[: len(TURNS)], after, json.loads(text)


# The engine


class TimedModel:
    """The rehearsal model, whose every request takes the same time on the harness's clock."""

    def __init__(self) -> None:
        self.model = Rehearsal()
        self.clock: Clock | None = None

    def stream(self, request: ModelRequest) -> Any:
        """Stream the answer, a few seconds later."""
        assert self.clock is not None
        self.clock.now += ANSWER_MS
        return self.model.stream(request)


class RecordedProject:
    """A project whose sessions the rehearsal model answers, with fixed clock and ids."""

    def __init__(self, root: Path) -> None:
        model = TimedModel()
        info = ModelInfo(
            ref=ModelRef(provider="rehearsal", name="rules"),
            window=WINDOW,
            output_limit=OUTPUT_LIMIT,
        )
        found = definitions(root)
        harness = SessionHarness(
            root,
            model,
            store=disk(root),
            info=info,
            few=False,
            definitions=found,
            known_agents=found.agents,
        )
        register_definitions(harness.services.agents.registry, found)
        model.clock = self._clock = harness.clock
        bytes_of = random.Random(FOLDER_NAME).randbytes
        services = replace(harness.services, ids=Ids(harness.clock, bytes_of))
        owner = Owner("lesson", 1, "kernel-lesson")
        self.workspace = Workspace(services, owner, project_id=FOLDER_NAME)

    async def ask(self, session: LiveSession, text: str, scenario_name: str) -> None:
        """Send a prompt a minute after the last answer."""
        self._clock.now += PAUSE_MS
        answer = await ask(session, text, model=f"rehearsal/{scenario_name}", yes=True)
        assert not answer.error, answer.error

    async def new(self, notebook: str) -> LiveSession:
        """Return the new session of a notebook."""
        session = await self.workspace.current(notebook)
        assert isinstance(session, LiveSession)
        return session


async def record_summary(root: Path, name: str, early: str, late: str, table: str) -> None:
    """Record a session that is compacted before its last two prompts."""
    before, after, steps = scenario(early, late, table)
    register_scenario(name, steps)
    project = RecordedProject(root)
    session = await project.new(f"{name}.ipynb")
    for prompt in before:
        await project.ask(session, prompt, name)
    await session.compact()
    for prompt in after:
        await project.ask(session, prompt, name)
    await project.workspace.close()


async def record_early(root: Path) -> None:
    """Record the session whose first prompt has the rule."""
    await record_summary(root, "early", f"{RULE} ", "", "raw")


async def record_late(root: Path) -> None:
    """Record the session whose last prompt before the compaction has the rule."""
    await record_summary(root, "late", "", f"{RULE} ", "clean")


READER = """---
description: Reads files and says what they hold
mode: subagent
model: rehearsal/reader
---

Read what you are asked for, and answer in one sentence.
"""
QUESTION = "Is any bird counted twice, in the table or in the notes?"
TASK = call(
    "task",
    description="Look for birds counted twice",
    prompt=f"Read data/raw.csv and all files in notes. {QUESTION}",
    agent="reader",
)
FOUND = (
    "P022 is the same bird as P021, since nest 41 was counted twice. No other bird is named twice."
)
READING = [
    step("", call("read", path="data/raw.csv"), call("read", path="notes/fieldbook.md")),
    step("", call("grep", pattern="^P02[0-9]", path="data/raw.csv")),
    step(FOUND),
]
PLAN = "Write into plan.md how the report is to be made, in three steps."
FORK_PLAN = "Draft the report in plan.md, in one paragraph."
LAST_PLAN = "Before you write anything, put the headings of the report into plan.md."
EDITED = BEGINNING.replace("{rule}", "Call the species by their Latin names. ")


def written_plan(text: str) -> list[Step]:
    """Return the answers that write a plan."""
    return [step("", call("write", path="plan.md", content=text)), step("The plan is in plan.md.")]


async def record_branches(root: Path) -> None:
    """Record a session with a subagent, a fork of it, a revert in it, and the same work with another first prompt."""
    agents = root / FOLDER / "agents"
    agents.mkdir(parents=True)
    (agents / "reader.md").write_text(READER)
    shared = [answer for _, answers in TURNS[:4] for answer in answers]
    shared += [step("The reader looks into the files.", TASK), step(FOUND)]
    first = [*shared, *written_plan("1. Read 2. Count 3. Write\n")]
    second = [*shared, *written_plan("Read the table, count the birds, write the report.\n")]
    register_scenario("reader", READING)
    register_scenario("work", first)
    project = RecordedProject(root)
    work = await project.new("work.ipynb")
    prompts = [prompt.replace("{rule}", "") for prompt, _ in TURNS[:4]] + [QUESTION]
    for prompt in prompts:
        await project.ask(work, prompt, "work")
    fork = await project.workspace.fork(work.id)
    assert isinstance(fork, LiveSession)
    await project.ask(work, PLAN, "work")
    register_scenario(
        "work", second
    )  # the same name, since the model's name is in the system prompt
    await project.ask(fork, FORK_PLAN, "work")
    await work.reverts.revert()
    await project.ask(work, LAST_PLAN, "work")
    edited = await project.workspace.new("work.ipynb")
    assert isinstance(edited, LiveSession)
    for prompt in [EDITED, *prompts[1:], FORK_PLAN]:
        await project.ask(edited, prompt, "work")
    await project.workspace.close()


RECORDINGS: dict[str, Callable[[Path], Coroutine[Any, Any, None]]] = {
    "own_early_rule": record_early,
    "own_late_rule": record_late,
    "own_branches": record_branches,
}


def pack(folder: Path, target: Path) -> None:
    """Write a folder's files into an archive with fixed times."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(str(path.relative_to(folder)), ARCHIVE_TIME)
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, path.read_bytes())


def main() -> None:
    """Record all sessions, or those named, and pack them."""
    os.environ[DELAY_VARIABLE] = "0"
    for name in sys.argv[1:] or RECORDINGS:
        root = Path(tempfile.gettempdir()) / FOLDER_NAME
        shutil.rmtree(root, ignore_errors=True)
        write_project(root)
        asyncio.run(RECORDINGS[name](root))
        pack(root, DATA_FOLDER / f"{name}.zip")
        shutil.rmtree(root)
        print(name, (DATA_FOLDER / f"{name}.zip").stat().st_size)


if __name__ == "__main__":
    main()
