"""A project's folder that is removed, renamed or replaced under a live kernel is told in a sentence, with the way out."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.frontends.foreign_logs import NOTEBOOK
from tests.harness.kernel import Kernel, Run
from tests.sample_size import thinned
from tests.waiting import eventually

pytestmark = pytest.mark.slow

ASIDE = "put-aside"
WAY_OUT = ("Put it back and ask again", "%agent --new", "palimpsest.new_session()")


def removed(root: Path) -> None:
    """Remove it at once: the kernel may write there meanwhile."""
    shutil.rmtree(root.rename(root.with_name("gone")), ignore_errors=True)


def renamed(root: Path) -> None:
    root.rename(root.with_name(ASIDE))


def emptied(root: Path) -> None:
    removed(root)
    root.mkdir()


def without_logs(root: Path) -> None:
    removed(root / "sessions")


def made_a_file(root: Path) -> None:
    removed(root)
    root.write_text("no folder")


def made_a_link(root: Path) -> None:
    removed(root)
    root.symlink_to(root.with_name("nowhere"))


WAYS: tuple[Callable[[Path], None], ...] = (
    removed,
    renamed,
    emptied,
    without_logs,
    made_a_file,
    made_a_link,
)


def told(run: Run) -> str:
    """Return all output of a cell."""
    return run.markdown() + run.stream("stdout") + run.stream("stderr")


@contextmanager
def opened(folder: Path, *first: str) -> Iterator[Kernel]:
    """A kernel of a notebook that keeps sessions on the disk; its model gives ``first``, then "Answer 1", ..."""
    with Kernel(cwd=folder, env={"JPY_SESSION_NAME": NOTEBOOK}) as kernel:
        answers = ", ".join([*first, *(f"says('Answer {number}')" for number in range(1, 9))])
        run = kernel.client.run(
            "from palimpsest.model.script import calls, says\n"
            "from tests.frontends.foreign_logs import load\n"
            f"import palimpsest\napp = load(get_ipython(), says('Hello.'), {answers})"
        )
        assert run.status == "ok", run.reply
        assert "Hello." in told(kernel.client.run("%agent hello there"))
        yield kernel


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel of a notebook, whose model gives one answer after the other."""
    with opened(tmp_path) as kernel:
        yield kernel


@pytest.mark.parametrize("way", thinned(WAYS, 5))
def test_a_prompt_is_refused_with_the_way_out_and_nothing_is_sent(
    kernel: Kernel, tmp_path: Path, way: Callable[[Path], None]
) -> None:
    root = tmp_path / ".palimpsest"
    way(root)

    refused = told(kernel.client.run("%agent and then?"))

    assert refused.count("so nothing was sent") == 1
    assert all(words in refused for words in WAY_OUT), refused
    assert "Traceback" not in refused
    assert "Answer" not in refused
    for call in ("requests()", "problems()[0].what", "start('And then?').result()"):
        python = kernel.client.run(f"print(palimpsest.current_session().{call})")
        said = told(python) + str(python.reply["content"].get("evalue"))
        assert python.of("error") == [] or len(python.of("error")[0]["traceback"]) == 1, call
        assert str(root) in said or "There is no session" in said, (call, said)
        assert "Answer" not in said
    assert kernel.client.run("print(len(palimpsest.current_session().messages))").stream() == "2\n"
    status = told(kernel.client.run("%agent status"))
    assert "put it back, or begin a new session with %agent --new" in status
    assert "Traceback" not in status


@pytest.mark.parametrize("way", thinned([removed, renamed, emptied, without_logs], 4))
def test_a_new_session_makes_the_folder_whole_and_says_so(
    kernel: Kernel, tmp_path: Path, way: Callable[[Path], None]
) -> None:
    root = tmp_path / ".palimpsest"
    number = (root / "layout").read_text()
    way(root)
    said = told(kernel.client.run("%agent --new a new beginning"))

    assert "Answer 1" in said
    assert ("was gone, so a new one was made" in said) is (way in (removed, renamed))
    assert (root / "layout").read_text() == number
    assert (root / ".gitignore").exists() or way is without_logs
    assert (root.stat().st_mode & 0o777) == 0o700
    after = told(kernel.client.run("%agent and then?"))
    assert "Answer 2" in after
    assert "was gone" not in after
    assert len(list((root / "sessions").iterdir())) == 1


@pytest.mark.parametrize("way", thinned([made_a_file, made_a_link], 2, 1))
def test_a_new_session_does_not_write_through_what_lies_in_its_place(
    kernel: Kernel, tmp_path: Path, way: Callable[[Path], None]
) -> None:
    root = tmp_path / ".palimpsest"
    way(root)

    refused = told(kernel.client.run("%agent --new a new beginning"))

    assert "Answer" not in refused
    assert str(root) in refused
    assert not (tmp_path / "nowhere").exists()
    root.unlink()
    assert "Answer 1" in told(kernel.client.run("%agent --new a new beginning"))


@pytest.mark.parametrize("how", thinned(["renamed", "copied"], 2))
def test_what_is_put_back_goes_on(kernel: Kernel, tmp_path: Path, how: str) -> None:
    root = tmp_path / ".palimpsest"
    if how == "copied":
        shutil.copytree(root, tmp_path / ASIDE)
        removed(root)
    else:
        renamed(root)
    assert "so nothing was sent" in told(kernel.client.run("%agent and then?"))
    (tmp_path / ASIDE).rename(root)

    assert "Answer 1" in told(kernel.client.run("%agent and now?"))
    read = kernel.client.run("print(len(palimpsest.current_session().requests()))")
    assert int(read.stream()) >= 2


@pytest.mark.parametrize("way", thinned([removed, renamed, made_a_file], 3))
def test_in_the_midst_of_a_turn_nothing_is_lost(
    tmp_path: Path, way: Callable[[Path], None]
) -> None:
    root = tmp_path / ".palimpsest"
    with opened(tmp_path, "calls('python', code='work()')") as kernel:
        gate = kernel.gate()
        kernel.client.run(f"def work():\n    {gate.blocking.replace(chr(10), chr(10) + '    ')}")
        kernel.client.run("def text(): return str(palimpsest.current_session().messages)")
        run_id = kernel.client.send("%agent --yes work on it")
        gate.reached()
        way(root)
        gate.open()
        run = kernel.client.finish(run_id)

        said = told(run)
        assert run.status == "ok", run.reply
        assert "Answer 1" in said
        assert "Traceback" not in said
        # Of a renamed folder the open log goes on under its new name.
        notes = said.count("What happens now is kept in this kernel's memory")
        assert notes == (0 if way is renamed else 1)
        assert "so nothing was sent" in told(kernel.client.run("%agent and then?"))
        assert "Answer 1" in kernel.client.run("print(text())").stream()
        if way is renamed:
            (tmp_path / ASIDE).rename(root)
            (log,) = root.glob("sessions/*/log-1.jsonl")
            eventually(lambda: b"Answer 1" in log.read_bytes())
            assert "Answer 2" in told(kernel.client.run("%agent and now?"))
