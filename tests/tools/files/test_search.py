"""The list, glob and grep tools find files within the project and within limits."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.harness.tools import ToolHarness
from tests.waiting import beating

from palimpsest.tools.file_access.globs import compile_glob, split_base
from palimpsest.tools.files import search
from palimpsest.tools.files.search import required_bytes
from palimpsest.transcript.errors import Aborted, UserError


async def test_list_draws_a_tree_without_ignored_files(harness: ToolHarness) -> None:
    harness.write(".gitignore", "*.log\nbuild/\n")
    for name in ("src/a.py", "src/deep/b.py", "debug.log", "build/x.o", "node_modules/m/i.js"):
        harness.write(name, "")

    outcome = await harness.call("list")

    assert outcome.output.split("\n") == [
        "./",
        "  src/",
        "    deep/",
        "      b.py",
        "    a.py",
        "  .gitignore",
    ]


async def test_a_deeper_gitignore_overrules_a_higher_one(harness: ToolHarness) -> None:
    harness.write(".gitignore", "*.csv\n")
    harness.write("data/.gitignore", "!keep.csv\n")
    harness.write("data/keep.csv", "")
    harness.write("data/drop.csv", "")

    output = (await harness.call("list", path="data")).output

    assert "keep.csv" in output
    assert "drop.csv" not in output


async def test_a_large_folder_shows_its_shape_first(harness: ToolHarness) -> None:
    for n in range(80):
        harness.write(f"many/{n:03}.txt", "")
    harness.write("other/x.txt", "")

    lines = (await harness.call("list")).output.split("\n")

    assert "    (20 more)" in lines
    assert "    x.txt" in lines


async def test_an_ignored_folder_can_be_listed_by_name(harness: ToolHarness) -> None:
    harness.write(".gitignore", "build/\n")
    harness.write("build/x.o", "")

    assert (await harness.call("list", path="build")).output == "build/\n  x.o"


async def test_links_are_shown_and_not_followed(harness: ToolHarness) -> None:
    (harness.root / "up").symlink_to(harness.root.parent)

    assert (await harness.call("list")).output == "./\n  up@"
    assert (await harness.call("glob", pattern="**/*.nothing")).metadata["count"] == 0


async def test_glob_returns_the_newest_first(harness: ToolHarness) -> None:
    for age, name in enumerate(("new.py", "b/old.py", "b/older.py")):
        os.utime(harness.write(name, ""), (1e9 - age, 1e9 - age))

    outcome = await harness.call("glob", pattern="*.py")

    assert outcome.output == "new.py\nb/old.py\nb/older.py"


async def test_glob_names_a_link_and_not_what_it_leads_to(harness: ToolHarness) -> None:
    (harness.root / "link.txt").symlink_to(harness.write("real/target.md", ""))

    assert (await harness.call("glob", pattern="*.txt")).output == "link.txt"


async def test_glob_stops_at_a_hundred_and_says_so(harness: ToolHarness) -> None:
    for n in range(105):
        harness.write(f"{n}.txt", "")

    lines = (await harness.call("glob", pattern="*.txt")).output.split("\n")

    assert len(lines) == 101
    assert lines[-1] == "(5 more files match; narrow the pattern.)"


async def test_glob_finds_ignored_data_when_nothing_else_matches(harness: ToolHarness) -> None:
    harness.write(".gitignore", "data/\n")
    harness.write("data/big.csv", "")

    outcome = await harness.call("glob", pattern="**/*.csv")

    assert outcome.output == "(Only ignored files match.)\ndata/big.csv"


@pytest.mark.parametrize(
    ("pattern", "hit", "miss"),
    [
        ("**/*.py", "a/b/c.py", "a/b/c.pyc"),
        ("**/*.py", "c.py", "c.txt"),
        ("data/*.{csv,tsv}", "data/a.tsv", "data/sub/a.csv"),
        ("/top.py", "top.py", "sub/top.py"),
        ("x?.txt", "sub/x1.txt", "x12.txt"),
        ("[!a]*.md", "b.md", "a.md"),
        ("a+(b).txt", "a+(b).txt", "aab.txt"),
        ("src/**", "src/a/b", "other/a"),
    ],
)
def test_patterns_mean_what_people_mean(pattern: str, hit: str, miss: str) -> None:
    assert compile_glob(pattern).match(hit)
    assert not compile_glob(pattern).match(miss)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", (".", "*.py")),
        ("src/lib/**/*.py", ("src/lib", "**/*.py")),
        ("src/a.py", ("src", "/a.py")),
        ("/etc/*.conf", ("/etc", "/*.conf")),
        ("/*", ("/", "/*")),
    ],
)
def test_a_walk_begins_as_deep_as_it_can(pattern: str, expected: tuple[str, str]) -> None:
    assert split_base(pattern) == expected


async def test_glob_outside_the_project_asks(harness: ToolHarness) -> None:
    await harness.call("glob", pattern=f"{harness.root.parent}/*.txt")

    assert [asked.permission for asked in harness.user.asked] == ["external_directory"]


async def test_grep_gives_lines_by_file(harness: ToolHarness) -> None:
    harness.write("a.py", "import os\nx = 1\n")
    harness.write("b/c.py", "import sys\n")
    harness.write("d.txt", "import nothing\n")

    outcome = await harness.call("grep", pattern=r"^import \w+", include="*.py")

    assert outcome.output == "a.py\n  1: import os\nb/c.py\n  1: import sys"


async def test_grep_passes_over_binary_ignored_and_secret_files(harness: ToolHarness) -> None:
    harness.write(".gitignore", "out.txt\n")
    harness.write("out.txt", "needle\n")
    harness.write("data.bin", b"needle\0\n")
    harness.write(".env", "needle=1\n")

    outcome = await harness.call("grep", pattern="needle")

    assert outcome.output == "No line matches 'needle' in the project."


async def test_grep_of_a_named_secret_file_asks(harness: ToolHarness) -> None:
    harness.write(".env", "needle=1\n")

    outcome = await harness.call("grep", pattern="needle", path=".env")

    assert "needle=1" in outcome.output
    assert [asked.patterns for asked in harness.user.asked] == [(".env",)]


async def test_grep_cuts_long_lines_around_the_match(harness: ToolHarness) -> None:
    harness.write("a.json", "x" * 5_000 + "needle" + "y" * 5_000)

    [_, line] = (await harness.call("grep", pattern="needle")).output.split("\n")

    assert "needle" in line
    assert len(line) < 400


async def test_grep_stops_at_two_hundred_lines(harness: ToolHarness) -> None:
    harness.write("a.txt", "x\n" * 500)
    harness.write("b.txt", "x\n" * 500)

    outcome = await harness.call("grep", pattern="x")

    assert outcome.metadata["count"] == 200
    assert outcome.output.endswith("(Stopped after 200 lines; narrow the search.)")


async def test_a_wrong_pattern_gets_one_sentence(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="not a valid regular expression"):
        await harness.call("grep", pattern="f(")


@pytest.mark.soak  # with each commit tests/tools/calls/test_schema_bounds.py bounds patterns of schemas; this adds those of a search
@pytest.mark.slow
async def test_a_catastrophic_pattern_ends_and_lets_others_run(
    harness: ToolHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_MATCH_SECONDS", 0.5)
    harness.write("a.txt", "a" * 40 + "b" * 40 + "!\n")
    began = time.process_time()
    async with beating() as beats:
        with pytest.raises(UserError, match="takes too long on line 1"):
            await harness.call("grep", pattern=r"(?:(?:a|aa|aab?)+b?)+(?:b|bb)*\d$")

    assert time.process_time() - began < 5
    assert beats.count > 10


@pytest.mark.slow
async def test_a_stopped_search_returns_at_once(
    harness: ToolHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_MATCH_SECONDS", 1.0)
    harness.write("a.txt", "a" * 40 + "b" * 40 + "!\n")
    asyncio.get_running_loop().call_later(0.1, harness.abort.set)

    began = time.process_time()
    with pytest.raises(Aborted):
        await harness.call("grep", pattern=r"(?:(?:a|aa|aab?)+b?)+(?:b|bb)*\d$")

    assert time.process_time() - began < search.MAX_MATCH_SECONDS / 2


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("import os", b"import"),
        (r"def \w+", b"def"),
        ("colou?r", b"colo"),
        ("abcd*", b"abc"),
        ("a|bcd", None),
        ("(abc)?", None),
        (r"\x41bcd", None),
        (r"foo\.bar_baz", b"bar_baz"),
        (r"\)(abc)?xy", None),
        ("abc{0}", None),
        ("größe", None),
        ("(?i)abc", None),
    ],
)
def test_the_prefilter_only_names_what_every_match_contains(
    pattern: str, expected: bytes | None
) -> None:
    assert required_bytes(pattern) == expected


@pytest.mark.parametrize(
    ("tool", "given"),
    [("glob", {"pattern": "[z-a].py"}), ("grep", {"pattern": "x", "include": "[z-a].py"})],
)
async def test_a_name_pattern_that_means_nothing_gets_a_sentence(
    harness: ToolHarness, tool: str, given: dict[str, str]
) -> None:
    with pytest.raises(UserError, match="is not a name pattern: bad character range"):
        await harness.call(tool, **given)


async def test_an_expression_nested_without_end_gets_a_sentence(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="too deeply nested"):
        await harness.call("grep", pattern="(" * 3_000 + ")" * 3_000)


async def test_many_slow_lines_of_one_file_end_in_time(
    harness: ToolHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_SEARCH_SECONDS", 0.5)
    harness.write("a.txt", f"{'a' * 15}b\n" * 10_000)
    began = time.process_time()

    outcome = await harness.call("grep", pattern="(a|a)+$")

    assert time.process_time() - began < 5.0
    assert "(Stopped after 0 s; the rest was not searched." in outcome.output


@pytest.mark.parametrize("what", ["one line", "many lines"])
async def test_rules_that_somebody_made_to_take_long_take_no_second(
    harness: ToolHarness, what: str
) -> None:
    harness.write("a.txt", "one\n")
    harness.write("b.txt", "one\n")
    long = "x" * 999_000 if what == "one line" else "x*y\n" * 240_000
    harness.write(".gitignore", f"b.txt\n{long}\n")
    began = time.process_time()

    output = (await harness.call("grep", pattern="one")).output

    assert time.process_time() - began < 1
    assert "a.txt" in output
    assert "b.txt" not in output


@pytest.mark.parametrize("what", ["link", "pipe", "huge", "folder"])
async def test_rules_of_what_to_ignore_are_read_from_small_files_only(
    harness: ToolHarness, tmp_path: Path, what: str
) -> None:
    harness.write("a.txt", "one\n")
    place = harness.root / ".gitignore"
    match what:
        case "link":
            (tmp_path / "rules").write_text("a.txt\n")
            place.symlink_to(tmp_path / "rules")
        case "pipe":
            os.mkfifo(place)
        case "huge":
            with place.open("wb") as file:
                file.truncate(20 << 30)
        case _:
            place.mkdir()

    assert "a.txt" in (await harness.call("grep", pattern="one")).output
