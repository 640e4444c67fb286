"""Files whose names are no UTF-8 are listed, searched, read, changed, compared and reverted, in any locale."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.sample_size import sampled_cases

from palimpsest.testing import ScriptedModel, calls, isolated_session, says
from palimpsest.transcript.parts import ToolCompleted, ToolPart

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there")
OLD, INNER, NEW = b"old-\xff.txt", b"sub\xfe/in-\xfd.txt", b"made-\xfc.txt"
TOOLS = (
    calls("list", path="."),
    calls("glob", pattern="**/*.txt"),
    calls("grep", pattern="needle"),
    calls("read", path=r"sub\xfe/in-\xfd.txt"),
    calls("edit", path=r"old-\xff.txt", old="needle", new="Grüße 漢"),
    calls("write", path=r"sub\xfe/neu-ü.txt", content="ü\n"),
    calls("bash", command=r'printf x > "$(printf "made-\\374.txt")"; printf "\\377 out\\n"'),
)


def project(folder: Path) -> None:
    os.mkdir(os.fsencode(folder) + b"/sub\xfe")  # noqa: PTH102  bytes are no Path
    for name in (OLD, INNER):
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(b"needle\n")


def content(folder: Path, name: bytes) -> bytes:
    with open(os.fsencode(folder) + b"/" + name, "rb") as file:  # noqa: PTH123
        return file.read()


def test_tools_name_them_and_a_revert_brings_them_back(tmp_path: Path) -> None:
    project(tmp_path)
    allow = {"permission": {"*": "allow"}}
    with isolated_session(
        ScriptedModel(*TOOLS, says("Done.")), folder=tmp_path, settings=allow
    ) as session:
        session.prompt("Go")
        states = [p.state for m in session.messages for p in m.parts if isinstance(p, ToolPart)]
        outputs = [
            state.output if isinstance(state, ToolCompleted) else str(state) for state in states
        ]
        assert all(isinstance(state, ToolCompleted) for state in states), outputs
        changed = {diff.file for diff in session.diff()}
        assert content(tmp_path, OLD) == "Grüße 漢\n".encode()
        session.revert()
        names = os.listdir(os.fsencode(tmp_path))  # noqa: PTH208  bytes are no Path

    assert [r"old-\xff.txt" in output and r"in-\xfd.txt" in output for output in outputs[:3]] == [
        True
    ] * 3
    assert outputs[3] == "1: needle"
    assert outputs[6].startswith("\N{REPLACEMENT CHARACTER} out\n")
    assert changed == {r"old-\xff.txt", r"sub\xfe/neu-ü.txt", r"made-\xfc.txt"}
    assert content(tmp_path, OLD) == content(tmp_path, INNER) == b"needle\n"
    assert NEW not in names


LOCALES = {
    "ASCII": {
        "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii",
    },
    "C": {"LC_ALL": "C"},
    "latin-1": {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"},
}  # fmt: skip
SCRIPT = textwrap.dedent(
    r"""
    import os, sys
    from palimpsest.testing import ScriptedModel, calls, isolated_session, says
    tools = [calls("list", path="."), calls("write", path="für 漢.txt", content="ü"), calls("read", path="für 漢.txt"),
             calls("edit", path=r"old-\xff.txt", old="needle", new="ü"), calls("bash", command="ls; printf '\\377'")]
    allow = {"permission": {"*": "allow"}}
    with isolated_session(ScriptedModel(*tools, says("Grüße 漢 😀")), folder=sys.argv[1], settings=allow) as session:
        assert session.prompt("Käfer 漢").text == "Grüße 漢 😀"
        for message in session.messages:
            for part in message.parts:
                if part.type == "tool":
                    print(ascii((part.tool, part.state.status)))
        print(ascii(sorted(one.file for one in session.diff())))
        for form in ("md", "json", "html", "ipynb", "atif", "opencode"):
            session.export(form)
        session.retitle("Käfer 漢")
        print(ascii(session.title))
        session.revert()
        print(sorted(one for one in os.listdir(os.fsencode(sys.argv[1])) if one.endswith(b".txt")))
    """
)


@pytest.mark.soak  # with each commit tools name them, above, and tests/test_encodings.py has the strictest locale; this adds both
@pytest.mark.slow
@pytest.mark.parametrize("locale", sampled_cases([*LOCALES], "ASCII"))
def test_in_every_locale_the_same_names(locale: str, tmp_path: Path) -> None:
    project(tmp_path)
    script = tmp_path.with_suffix(".py")
    script.write_text(SCRIPT, encoding="utf-8")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LANG", "LC_CTYPE", "PYTHONUTF8", "PYTHONIOENCODING")
    }
    answer = subprocess.run(
        [sys.executable, script, tmp_path],
        env=kept | LOCALES[locale],
        capture_output=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr.decode("utf-8", "replace")
    *states, changed, title, names = answer.stdout.decode("ascii").splitlines()
    assert states == [
        f"('{tool}', 'completed')" for tool in ("list", "write", "read", "edit", "bash")
    ]
    assert changed == ascii(sorted([r"old-\xff.txt", "für 漢.txt"]))
    assert title == ascii("Käfer 漢")
    assert names == "[b'old-\\xff.txt']"
