"""The recipes of CONTRIBUTING.md take the files that they list, four at most, and lead to something that works.

They are carried out on a copy of the sources, on which the type checkers run, too: a new kind of rule or part is
a type error until it is handled everywhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import new_kinds

NODE = Path(sys.prefix) / "bin" / "node"


MAX_FILES = 4


@pytest.mark.parametrize("title", new_kinds.recipes())
def test_a_recipe_asks_for_four_files_at_most(title: str) -> None:
    assert 0 < len(new_kinds.recipes()[title]) <= MAX_FILES


@pytest.mark.parametrize("title", new_kinds.WHOLE)
def test_a_recipe_lists_the_files_that_it_takes_in_their_order(title: str) -> None:
    steps = new_kinds.recipes()[title]
    touched = new_kinds.files(new_kinds.WHOLE[title])

    assert len(touched) == len(steps)
    assert [
        pair for pair in zip(touched, steps, strict=True) if not new_kinds.is_listed(*pair)
    ] == []


def mypy(target: Path) -> set[str]:
    """Return the files in which mypy reports errors."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(target / "cache")],
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^kernel_ext/palimpsest/(\S+?):\d+: error", done.stdout, re.MULTILINE))


def tsc(target: Path) -> set[str]:
    """Generate the protocol types, and return the files in which TypeScript reports errors."""
    page = target / "labextension"
    ours = {"PYTHONPATH": str(target / "kernel_ext"), "PATH": f"{NODE.parent}:/usr/bin:/bin"}
    script = [sys.executable, str(target / "scripts" / "protocol.py")]
    subprocess.run(script, cwd=target, env=ours, check=True)
    done = subprocess.run(
        [str(NODE), "node_modules/typescript/bin/tsc", "--noEmit"],
        cwd=page,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^src/(\S+?)\(\d+,\d+\): error", done.stdout, re.MULTILINE))


@pytest.mark.soak  # with each commit a recipe lists its files, above; this adds mypy and tsc over a copy
@pytest.mark.parametrize(
    ("kind", "python", "page"),
    [
        (
            "A pruning rule",
            {"context/reduction/pruning.py", "transcript/context_values/prune_policy.py"},
            set(),
        ),
        ("A type of part", {"render/content/outline.py"}, {"views/parts/standaloneParts.tsx"}),
    ],
)
def test_a_kind_that_is_only_named_is_a_type_error(
    kind: str, python: set[str], page: set[str], tmp_path: Path
) -> None:
    target = new_kinds.copied(tmp_path)
    new_kinds.write(new_kinds.BARE[kind], target)

    assert mypy(target) == python
    assert tsc(target) == page


WORKS = """
import asyncio, json
from pathlib import Path
from tempfile import TemporaryDirectory
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.visible_messages import View
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.render.formats import html, text
from palimpsest.render.content.decision_reasons import decision_sentence
from palimpsest.tools.permission_rules.permissions import last_matching_rule
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES, builtin_tools, is_reserved_name
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.context_values.decisions import Facts
from palimpsest.transcript.parts import LinkPart
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.context.reduction.pruning import pruning_function
from tests.builders import Builder, MODEL
from tests.context_policies.whatif.replayed_sessions import (
    EVERY_RULE_ACTS, decided_everywhere, decided_instead, ruled,
)

def everywhere(call):
    with TemporaryDirectory() as folder:
        return asyncio.run(call(Path(folder), ruled("largest", largest_tokens=500), EVERY_RULE_ACTS))


acts, instead = everywhere(decided_everywhere), everywhere(decided_instead)
build = Builder()
asked = build.user("read it")
answer = build.assistant(build.ran("read", "word " * 9000), to=asked)
policy = Policy.model_validate({"prune": {"rule": "largest", "largest_tokens": 100}})
facts = Facts(now=1, estimator="chars/4", window=1000, reserve=0)
made = prune(View((asked, answer), (), {}), policy, facts, lambda: "dec_1", lambda t: len(t) // 4)
link = LinkPart(id="prt_l", session_id="s", message_id="m", title="The data")
said = build.user("see", link)
print(json.dumps({
    "mark": [decision_sentence(one) for one in made],
    "live": any(acts["live"]),
    "replays": acts["live"] == acts["exact"] == acts["light"],
    "what-if": any(instead["light"]) and instead["light"] == instead["exact"],
    "held": pruning_function("largest").numbers,
    "offered": "count_words" in Registry(builtin_tools()).names,
    "action": last_matching_rule("count_words", "*", DEFAULT_RULES).action,
    "own": is_reserved_name("count_words"),
    "model": [block.text for one in neutral_messages((said,), MODEL) for block in one.blocks],
    "shown": ["The data" in view.render_message(said) for view in (html, text)],
}))
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources on which all recipes were followed."""
    target = new_kinds.copied(tmp_path_factory.mktemp("followed"))
    for changes in new_kinds.WHOLE.values():
        new_kinds.write(changes, target)
    return target


def run(target: Path, *arguments: str) -> str:
    """Run Python with the sources of the copy; returns what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=new_kinds.ROOT,
        env={"PYTHONPATH": f"{target / 'kernel_ext'}:{new_kinds.ROOT}", "HOME": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.soak  # with each commit a recording of a new format is compared under a new policy, below; this adds three other recipes
@pytest.mark.slow
def test_a_rule_a_tool_and_a_part_work_from_end_to_end(followed: Path) -> None:
    assert json.loads(run(followed, "-c", WORKS)) == {
        "mark": [
            (
                "Cleared for the model: 11,250 → 8 tokens, by rule prune/largest; the whole text is "
                "kept. Larger than 100 tokens."
            )
        ],
        "live": True,
        "replays": True,
        "what-if": True,
        "held": ["largest_tokens"],
        "offered": True,
        "action": "allow",
        "own": True,
        "model": ["see", "[Link: The data]"],
        "shown": [True, True],
    }


@pytest.mark.slow
def test_a_recording_of_a_new_format_is_compared_under_a_new_policy(followed: Path) -> None:
    recording = followed / "session.jsonl"
    recording.write_text("\n".join(map(json.dumps, new_kinds.RECORDED_BY_EXAMPLE)))

    said = run(
        followed,
        *("-m", "palimpsest", "compare", str(recording), "--json"),
        *("--policy", "raw", "example.mask", "example.mask longest=20000"),
    )

    (table,) = json.loads(said)["comparisons"]
    acted = {row["policy"]: (row["fired"], row["peak"]) for row in table["rows"]}
    assert acted == {
        "raw": (0, 2_504),
        "example.mask": (1, 6),
        "example.mask longest=20000": (0, 2_504),
    }


@pytest.mark.soak  # with each commit a recipe lists its files, above; this adds mypy and tsc over a copy
def test_the_types_of_all_hold(followed: Path) -> None:
    assert mypy(followed) == set()
    assert tsc(followed) == set()
