"""List, glob and grep find what is there, within the project and within limits."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.harness.tools import Bench
from tests.waiting import beating

from palimpsest.tools.file_access.globs import compile_glob, split_base
from palimpsest.tools.files import search
from palimpsest.tools.files.search import prefilter
from palimpsest.transcript.errors import Aborted, UserError


async def test_list_draws_a_tree_without_ignored_files(bench: Bench) -> None:
    bench.write(".gitignore", "*.log\nbuild/\n")
    for name in ("src/a.py", "src/deep/b.py", "debug.log", "build/x.o", "node_modules/m/i.js"):
        bench.write(name, "")

    outcome = await bench.call("list")

    assert outcome.output.split("\n") == [
        "./",
        "  src/",
        "    deep/",
        "      b.py",
        "    a.py",
        "  .gitignore",
    ]


async def test_a_deeper_gitignore_overrules_a_higher_one(bench: Bench) -> None:
    bench.write(".gitignore", "*.csv\n")
    bench.write("data/.gitignore", "!keep.csv\n")
    bench.write("data/keep.csv", "")
    bench.write("data/drop.csv", "")

    output = (await bench.call("list", path="data")).output

    assert "keep.csv" in output
    assert "drop.csv" not in output


async def test_a_large_folder_shows_its_shape_first(bench: Bench) -> None:
    for n in range(80):
        bench.write(f"many/{n:03}.txt", "")
    bench.write("other/x.txt", "")

    lines = (await bench.call("list")).output.split("\n")

    assert "    (20 more)" in lines
    assert "    x.txt" in lines


async def test_an_ignored_folder_can_be_listed_by_name(bench: Bench) -> None:
    bench.write(".gitignore", "build/\n")
    bench.write("build/x.o", "")

    assert (await bench.call("list", path="build")).output == "build/\n  x.o"


async def test_links_are_shown_and_not_followed(bench: Bench) -> None:
    (bench.root / "up").symlink_to(bench.root.parent)

    assert (await bench.call("list")).output == "./\n  up@"
    assert (await bench.call("glob", pattern="**/*.nothing")).metadata["count"] == 0


async def test_glob_returns_the_newest_first(bench: Bench) -> None:
    for age, name in enumerate(("new.py", "b/old.py", "b/older.py")):
        os.utime(bench.write(name, ""), (1e9 - age, 1e9 - age))

    outcome = await bench.call("glob", pattern="*.py")

    assert outcome.output == "new.py\nb/old.py\nb/older.py"


async def test_glob_names_a_link_and_not_what_it_leads_to(bench: Bench) -> None:
    (bench.root / "link.txt").symlink_to(bench.write("real/target.md", ""))

    assert (await bench.call("glob", pattern="*.txt")).output == "link.txt"


async def test_glob_stops_at_a_hundred_and_says_so(bench: Bench) -> None:
    for n in range(105):
        bench.write(f"{n}.txt", "")

    lines = (await bench.call("glob", pattern="*.txt")).output.split("\n")

    assert len(lines) == 101
    assert lines[-1] == "(5 more files match; narrow the pattern.)"


async def test_glob_finds_ignored_data_when_nothing_else_matches(bench: Bench) -> None:
    bench.write(".gitignore", "data/\n")
    bench.write("data/big.csv", "")

    outcome = await bench.call("glob", pattern="**/*.csv")

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


async def test_glob_outside_the_project_asks(bench: Bench) -> None:
    await bench.call("glob", pattern=f"{bench.root.parent}/*.txt")

    assert [asked.permission for asked in bench.desk.asked] == ["external_directory"]


async def test_grep_gives_lines_by_file(bench: Bench) -> None:
    bench.write("a.py", "import os\nx = 1\n")
    bench.write("b/c.py", "import sys\n")
    bench.write("d.txt", "import nothing\n")

    outcome = await bench.call("grep", pattern=r"^import \w+", include="*.py")

    assert outcome.output == "a.py\n  1: import os\nb/c.py\n  1: import sys"


async def test_grep_passes_over_binary_ignored_and_secret_files(bench: Bench) -> None:
    bench.write(".gitignore", "out.txt\n")
    bench.write("out.txt", "needle\n")
    bench.write("data.bin", b"needle\0\n")
    bench.write(".env", "needle=1\n")

    outcome = await bench.call("grep", pattern="needle")

    assert outcome.output == "No line matches 'needle' in the project."


async def test_grep_of_a_named_secret_file_asks(bench: Bench) -> None:
    bench.write(".env", "needle=1\n")

    outcome = await bench.call("grep", pattern="needle", path=".env")

    assert "needle=1" in outcome.output
    assert [asked.patterns for asked in bench.desk.asked] == [(".env",)]


async def test_grep_cuts_long_lines_around_the_match(bench: Bench) -> None:
    bench.write("a.json", "x" * 5_000 + "needle" + "y" * 5_000)

    [_, line] = (await bench.call("grep", pattern="needle")).output.split("\n")

    assert "needle" in line
    assert len(line) < 400


async def test_grep_stops_at_two_hundred_lines(bench: Bench) -> None:
    bench.write("a.txt", "x\n" * 500)
    bench.write("b.txt", "x\n" * 500)

    outcome = await bench.call("grep", pattern="x")

    assert outcome.metadata["count"] == 200
    assert outcome.output.endswith("(Stopped after 200 lines; narrow the search.)")


async def test_a_wrong_pattern_gets_one_sentence(bench: Bench) -> None:
    with pytest.raises(UserError, match="not a valid regular expression"):
        await bench.call("grep", pattern="f(")


@pytest.mark.slow
async def test_a_catastrophic_pattern_ends_and_lets_others_run(bench: Bench) -> None:
    bench.write("a.txt", "a" * 40 + "b" * 40 + "!\n")
    began = time.process_time()
    async with beating() as beats:
        with pytest.raises(UserError, match="takes too long on line 1"):
            await bench.call("grep", pattern=r"(?:(?:a|aa|aab?)+b?)+(?:b|bb)*\d$")

    assert time.process_time() - began < 5
    assert beats.count > 10


@pytest.mark.slow
async def test_a_stopped_search_returns_at_once(bench: Bench) -> None:
    bench.write("a.txt", "a" * 40 + "b" * 40 + "!\n")
    asyncio.get_running_loop().call_later(0.1, bench.abort.set)

    began = time.process_time()
    with pytest.raises(Aborted):
        await bench.call("grep", pattern=r"(?:(?:a|aa|aab?)+b?)+(?:b|bb)*\d$")

    assert time.process_time() - began < search.LONGEST_MATCH_SECONDS / 2


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
    assert prefilter(pattern) == expected


@pytest.mark.parametrize(
    ("tool", "given"),
    [("glob", {"pattern": "[z-a].py"}), ("grep", {"pattern": "x", "include": "[z-a].py"})],
)
async def test_a_name_pattern_that_means_nothing_gets_a_sentence(
    bench: Bench, tool: str, given: dict[str, str]
) -> None:
    with pytest.raises(UserError, match="is not a name pattern: bad character range"):
        await bench.call(tool, **given)


async def test_an_expression_nested_without_end_gets_a_sentence(bench: Bench) -> None:
    with pytest.raises(UserError, match="too deeply nested"):
        await bench.call("grep", pattern="(" * 3_000 + ")" * 3_000)


async def test_many_slow_lines_of_one_file_end_in_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LONGEST_SEARCH_SECONDS", 0.5)
    bench.write("a.txt", f"{'a' * 15}b\n" * 10_000)
    began = time.process_time()

    outcome = await bench.call("grep", pattern="(a|a)+$")

    assert time.process_time() - began < 5.0
    assert "(Stopped after 0 s; the rest was not searched." in outcome.output


@pytest.mark.parametrize("what", ["one line", "many lines"])
async def test_rules_that_somebody_made_to_take_long_take_no_second(
    bench: Bench, what: str
) -> None:
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "one\n")
    long = "x" * 999_000 if what == "one line" else "x*y\n" * 240_000
    bench.write(".gitignore", f"b.txt\n{long}\n")
    began = time.process_time()

    found = (await bench.call("grep", pattern="one")).output

    assert time.process_time() - began < 1
    assert "a.txt" in found
    assert "b.txt" not in found


@pytest.mark.parametrize("what", ["link", "pipe", "huge", "folder"])
async def test_rules_of_what_to_ignore_are_read_from_small_files_only(
    bench: Bench, tmp_path: Path, what: str
) -> None:
    bench.write("a.txt", "one\n")
    place = bench.root / ".gitignore"
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

    assert "a.txt" in (await bench.call("grep", pattern="one")).output
