"""A log with any damaged byte can be opened, reports the damage, and loses nothing else."""

import random
import re
import shutil
from pathlib import Path

import pytest
from tests.sample_size import sample_size, seeds, thinned
from tests.store.byte_damage import damaged
from tests.store.damaged_log import check_kept, go_on, log_of, touched, write_session
from tests.store.record_builders import SESSION

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.messages import Message

SEEDS = seeds(24, 20_000)
BLOCKS = 8


class Pristine:
    """A session of three segments and its original files, to be damaged repeatedly."""

    def __init__(self, project: Path) -> None:
        self.store = JsonlStore(open_project_folder(project))
        write_session(self.store)
        go_on(self.store, "msg_second")
        go_on(self.store, "msg_third")
        self.folder = log_of(self.store).parent
        self.logs = {path.name: path.read_bytes() for path in self.folder.glob("log-*.jsonl")}
        assert len(self.logs) == 3
        self.messages: tuple[Message, ...] = self.store.load(SESSION).messages()
        self.live = {message.id for message in self.store.open_live(SESSION).messages()}
        assert 0 < len(self.live) < len(self.messages)

    def restore(self) -> None:
        """Restore the original files."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for name, content in self.logs.items():
            (self.folder / name).write_bytes(content)
        self.store.layout.index.unlink(missing_ok=True)
        self.store = JsonlStore(self.store.layout)

    def damage(self, seed: int) -> tuple[str, set[str]]:
        """Replace one log by a damaged copy; return the damage and the affected message ids."""
        self.restore()
        # Mostly the first segment, which holds nearly all messages; the others are short.
        name = random.Random(seed).choice(
            ["log-1.jsonl", "log-1.jsonl", "log-2.jsonl", "log-3.jsonl"]
        )
        problem, content = damaged(seed, self.logs[name])
        (self.folder / name).write_bytes(content)
        return f"{name}, {problem}", touched(self.logs[name], content)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Pristine:
    return Pristine(tmp_path_factory.mktemp("damaged"))


def check(pristine: Pristine, seed: int) -> None:
    """Damage the session by a seed, and assert that it opens, reports this and can be continued."""
    problem, gone = pristine.damage(seed)
    try:
        check_use(pristine, gone, writes=seed % 4 == 0)
    except Exception as error:
        raise AssertionError(
            f"seed {seed}, {problem}: {type(error).__name__}: {str(error)[:300]}"
        ) from error


def check_use(pristine: Pristine, gone: set[str], *, writes: bool) -> None:
    """Use the session in every way, and assert that only damaged messages are lost."""
    store = pristine.store
    assert all(problem.what.endswith(".") for problem in store.problems(SESSION))
    check_kept(store, pristine.messages, gone, pristine.live)
    store.list()
    list(store.read(SESSION))
    list(store.stream(SESSION))
    if writes:
        go_on(store)
        again = JsonlStore(store.layout)
        assert again.load(SESSION).messages()[-1].id == "msg_new"
        assert again.open_live(SESSION).messages()[-1].id == "msg_new"
        check_kept(again, pristine.messages, gone, pristine.live)
        assert [summary.id for summary in again.list()] == [SESSION]


@pytest.mark.slow
@pytest.mark.timeout(sample_size(300, 3_600))
@pytest.mark.parametrize("block", thinned(range(BLOCKS), 2))
def test_a_damaged_log_opens_and_loses_nothing_else(pristine: Pristine, block: int) -> None:
    for seed in SEEDS[block::BLOCKS]:
        check(pristine, seed)


def lines_of(pristine: Pristine, kind: bytes) -> list[int]:
    """Return the line numbers of a type of record in the first segment."""
    lines = pristine.logs["log-1.jsonl"].split(b"\n")
    return [at for at, line in enumerate(lines) if b'"type":"%s"' % kind in line[:80]]


def put(pristine: Pristine, at: int, line: bytes) -> None:
    """Replace a line of the first segment."""
    lines = pristine.logs["log-1.jsonl"].split(b"\n")
    lines[at] = line
    (pristine.folder / "log-1.jsonl").write_bytes(b"\n".join(lines))


def line(pristine: Pristine, at: int) -> bytes:
    return pristine.logs["log-1.jsonl"].split(b"\n")[at]


@pytest.mark.parametrize("kind", [b"message.updated", b"message.part.updated"])
def test_a_bad_byte_within_an_id_costs_one_line(pristine: Pristine, kind: bytes) -> None:
    pristine.restore()
    at = lines_of(pristine, kind)[0]
    broken = line(pristine, at).replace(b'"msg_', b'"msg\xff')
    put(pristine, at, broken)

    check_use(pristine, touched(line(pristine, at), broken), writes=True)
    (problem,) = pristine.store.problems(SESSION)[:1]
    assert problem.what == "The line is not a JSON object."


@pytest.mark.parametrize(
    ("good", "wrong"),
    thinned([(rb'"seq":\d+', b'"seq":{"":{}}'), (rb'"same":\d+', b'"same":Infinity')], 2),
)
def test_a_request_with_a_wrong_number_costs_one_line(
    pristine: Pristine, good: bytes, wrong: bytes
) -> None:
    for at in lines_of(pristine, b"step.requested")[:: sample_size(4, 1)]:
        pristine.restore()
        put(pristine, at, re.sub(good, wrong, line(pristine, at), count=1))

        check_use(pristine, set(), writes=True)
        assert pristine.store.problems(SESSION)


def test_a_number_that_is_too_high_hides_no_record_after_it(pristine: Pristine) -> None:
    pristine.restore()
    at = lines_of(pristine, b"message.part.updated")[2]
    put(pristine, at, line(pristine, at).replace(b'"seq":', b'"seq":99', 1))

    check_use(pristine, set(), writes=True)
    read = [record.seq for record in pristine.store.read(SESSION)]
    assert len(read) == len(set(read)) > at


def test_a_checkpoint_that_was_changed_is_not_believed(pristine: Pristine) -> None:
    pristine.restore()
    wanted = pristine.store.open_live(SESSION).messages()
    newest = pristine.folder / "log-3.jsonl"
    content = newest.read_bytes()
    where = content.index(b'"window_offset":') + len(b'"window_offset":')
    other = b"1" if content[where : where + 1] != b"1" else b"2"
    newest.write_bytes(content[:where] + other + content[where + 1 :])

    opened = JsonlStore(pristine.store.layout).open_live(SESSION).messages()
    assert opened[-len(wanted) :] == wanted
    assert "not as it was written" in pristine.store.problems(SESSION)[-1].what


@pytest.mark.parametrize("name", [b"previous", b"cut"])
def test_a_header_that_was_changed_loses_no_earlier_segment(
    pristine: Pristine, name: bytes
) -> None:
    pristine.restore()
    path = pristine.folder / "log-2.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"%s":' % name, b'"%s":1' % name, 1))

    check_use(pristine, set(), writes=True)


def test_bytes_that_came_into_a_segment_leave_the_ones_after_it_alone(pristine: Pristine) -> None:
    pristine.restore()
    path = pristine.folder / "log-1.jsonl"
    header, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(header + b"\n" + b"x" * 5_000 + b"\n" + rest)

    check_use(pristine, set(), writes=True)


def test_half_characters_are_read_as_what_can_be_written(pristine: Pristine) -> None:
    pristine.restore()
    at = lines_of(pristine, b"message.part.updated")[1]
    put(pristine, at, line(pristine, at).replace(b'"text":"', rb'"text":"\ud800', 1))

    text = pristine.store.load(SESSION).messages()[0].parts[1]
    assert getattr(text, "text", "").startswith("\ufffd")
    go_on(pristine.store)
    assert pristine.store.load(SESSION).messages()[-1].id == "msg_new"
