"""The log of any session is rebuilt, decided again and replayed to equal results.

After a restart, in a fork, after a kernel was killed, over HTTP, and in sessions that hypothesis generates:
rebuilding gives the hashes, re-deciding the decisions, and replaying under the session's own policy the
token counts, the decisions and the requests.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY
from tests.recordings.reconstruction.test_older_versions import FIRST, SECOND, loaded
from tests.sample_size import sample_size, slow_cases
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, overflows, says
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.interface import Store
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import FaultServer, ReceivedRequest, ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ModelInfo, ModelRef

LINES = "\n".join(f"line {number}: all is well, and nobody reads it" for number in range(260))


def make_harness(
    root: Path, model: ScriptedModel, store: Store, policy: Policy, window: int = 24_000
) -> SessionHarness:
    info = ModelInfo(
        ref=ModelRef(provider="scripted", name="model"),
        window=window,
        output_limit=2_000,
        caching=True,
    )
    harness = SessionHarness(root, model, store=store, info=info)
    object.__setattr__(harness.services.rules, "policy", policy)
    return harness


def folder(root: Path) -> None:
    for number in range(4):
        (root / f"log{number}.txt").write_text(f"{number}\n{LINES}\n")


def disk(root: Path) -> JsonlStore:
    return JsonlStore(open_project_folder(root), heartbeat_seconds=0.1, watch_seconds=2.5)


@pytest.mark.soak  # with each commit generated sessions are replayed, below; this adds one that was opened again, and a copy of its folder
async def test_a_session_reopened_from_disk_goes_on_and_is_replayed_whole(tmp_path: Path) -> None:
    folder(tmp_path)
    reads = [calls("read", path=f"log{number % 4}.txt") for number in range(6)]
    first = make_harness(tmp_path, ScriptedModel(*reads, says("Well.")), disk(tmp_path), Policy())
    session = await first.session()
    await ask(session, "Read the logs.")
    chosen = await session.use_policy("prune.protect_tokens=1000", "prune.minimum_tokens=200")
    await first.workspace.close()

    later = ScriptedModel(*reads, says("Well."))
    second = make_harness(tmp_path, later, disk(tmp_path), Policy())
    session = await second.session()
    assert session.policy() == chosen
    await ask(session, "Read them again.")
    await session.journal.flush()

    whatif = check_log_laws(second.store, session.id)
    assert {decision.rule for decision in whatif.other.decisions} == {"prune/batch"}
    await second.workspace.close()
    # Neither kernel nor session is needed: the folder is enough.
    copy = tmp_path.parent / f"{tmp_path.name}-copy"
    shutil.copytree(tmp_path / ".palimpsest", copy / ".palimpsest")
    assert check_log_laws(disk(copy), session.id).recorded == whatif.recorded


async def test_a_fork_is_replayed_with_what_it_shares_and_keeps_the_policy(tmp_path: Path) -> None:
    folder(tmp_path)
    reads = [calls("read", path=f"log{number % 4}.txt") for number in range(5)]
    model = ScriptedModel(*reads, says("Well."), *reads, says("Forked."), says("Mine."))
    harness = make_harness(tmp_path, model, disk(tmp_path), Policy(), window=90_000)
    session = await harness.session()
    await session.use_policy("prune.minimum_tokens=100")
    await ask(session, "Read the logs.")
    await session.journal.flush()

    fork = await harness.workspace.fork(session.id)
    assert isinstance(fork, LiveSession)
    assert fork.policy() == session.policy()
    await fork.use_policy("opencode-1.18")
    await ask(fork, "And again.")
    await ask(session, "And you?")
    await fork.journal.flush()
    await session.journal.flush()

    ours, theirs = check_log_laws(harness.store, session.id), check_log_laws(harness.store, fork.id)
    assert len(theirs.recorded.steps) == 12
    assert ours.recorded.steps[:6] == theirs.recorded.steps[:6]
    assert session.policy().name == "palimpsest"
    await harness.workspace.close()


@pytest.mark.soak  # with each commit generated sessions are replayed, below, and tests/store/log/test_damage.py cuts logs; this adds both
@pytest.mark.slow
async def test_a_log_that_was_cut_anywhere_is_rebuilt_and_replayed_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    folder(tmp_path)
    reads = [calls("read", path=f"log{number % 4}.txt") for number in range(6)]
    bash = calls("bash", command="seq 1 6000")
    harness = make_harness(
        tmp_path, ScriptedModel(*reads, bash, says("Well.")), disk(tmp_path), Policy()
    )
    session = await harness.session()
    await ask(session, "Read the logs.", yes=True)
    await harness.workspace.close()
    [log] = (tmp_path / ".palimpsest" / "sessions" / session.id).glob("log-*.jsonl")
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)

    for cut in range(12, len(lines), sample_size(9, 3)):
        log.write_bytes(b"".join(lines[:cut]) + lines[cut][:40])
        store = disk(tmp_path)
        assert all(
            request.matches for request in rebuild_all(store, session.id, store.read(session.id))
        )
        whatif = exact_whatif(store, session.id)
        assert whatif.is_unchanged
        unlike = redecide(store, session.id).differences
        # A kill may come between a decision and its record, and at no other place.
        assert all(request.seq >= cut - 4 for request in unlike), unlike


def test_a_log_of_the_first_projection_is_replayed_as_that_version_sent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, records = loaded(FIRST)
    monkeypatch.setattr(store, "read", lambda _session_id, **_rest: iter(records))

    whatif = exact_whatif(store, "ses_any")

    assert whatif.is_unchanged
    # That version counted one token more for the tools.
    steps = zip(whatif.recorded.steps, whatif.other.steps, strict=True)
    assert all(was.tokens - other.tokens == 1 for was, other in steps)
    assert redecide(store, "ses_any").is_same
    assert not exact_whatif(store, "ses_any", Policy()).is_unchanged


def test_a_log_of_the_second_projection_is_replayed_as_that_version_sent_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, records = loaded(SECOND)
    monkeypatch.setattr(store, "read", lambda _session_id, **_rest: iter(records))

    assert exact_whatif(store, "ses_any").is_unchanged
    assert redecide(store, "ses_any").is_same


class Improviser:
    """Answers requests as drawn by hypothesis: calls, text, summaries or errors."""

    def __init__(self, draws: list[int]) -> None:
        self._draws = iter(draws)
        self._asked = 0

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        drawn = next(self._draws, 0)
        self._asked += 1
        if request.purpose == "compaction":
            return says("Too short.") if drawn % 7 == 1 else says(SUMMARY)
        newest = str(request.messages[-1].get("content"))
        if drawn % 11 == 7:
            return overflows()
        if drawn % 5 < 3 and "last step" not in newest:
            report = drawn % 4 * 9_000
            # Different calls, since a repeated one would need an approval.
            answer = calls("read", path=f"log{drawn % 4}.txt", limit=100 + self._asked)
            return answer.reports(input=report, output=10) if report else answer
        return says("word " * (drawn * 20))


OPERATIONS = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 1_500)),
    st.tuples(st.just("wait"), st.integers(60, 900)),
    st.tuples(st.just("compact"), st.just(0)),
    st.tuples(st.just("policy"), st.sampled_from([*PRESETS, "prune.protect_tokens=1500"])),
    st.tuples(st.sampled_from(["pin", "exclude", "restore"]), st.just("last")),
    st.tuples(st.just("undo"), st.just("")),
)


async def improvise(
    root: Path, operations: list[tuple[str, Any]], draws: list[int], policy: Policy, window: int
) -> tuple[Store, str]:
    """Run the operations on a session whose model answers as drawn."""
    answers = Improviser(draws)
    harness = make_harness(root, ScriptedModel(*[answers] * 400), MemoryStore(), policy, window)
    session = await harness.session()
    for name, value in [("ask", 5), *operations]:
        try:
            match name:
                case "ask":
                    await ask(session, "Look. " + "word " * value, max_steps=6)
                case "wait":
                    harness.clock.now += value * 1_000
                case "compact":
                    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
                case "policy":
                    await session.use_policy(value)
                case "pin" | "unpin" | "exclude" | "restore" if isinstance(value, int):
                    all_parts = (
                        part for message in session.snapshot().messages for part in message.parts
                    )
                    parts = [
                        all_part.id
                        for all_part in all_parts
                        if not getattr(all_part, "ignored", False)
                    ]
                    session.edit_context(name, parts[value % len(parts)])
                case _:
                    session.edit_context(name, value)  # type: ignore[arg-type]  # one of the words
        except UserError:
            continue
    await harness.workspace.close()
    return harness.store, session.id


@pytest.mark.slow
@slow_cases(8, 300)
@given(
    st.lists(OPERATIONS, max_size=7),
    st.lists(st.integers(0, 200), min_size=10, max_size=60),
    st.sampled_from(list(PRESETS.values())),
    st.sampled_from([20_000, 34_000, 90_000]),
    st.sampled_from(list(PRESETS.values())),
)
def test_any_session_is_replayed_as_it_was_under_its_own_policy(
    operations: list[tuple[str, Any]],
    draws: list[int],
    policy: Policy,
    window: int,
    another: Policy,
) -> None:
    small = policy_with_changes(policy, {"guard.hard_minimum": 1_000, "guard.hard_share": 0.0})
    with tempfile.TemporaryDirectory() as root:
        folder(Path(root))

        store, session_id = asyncio.run(improvise(Path(root), operations, draws, small, window))

        check_log_laws(store, session_id)
        # Under another policy the replay completes, with a request for each step.
        whatif = exact_whatif(store, session_id, another)
        assert len(whatif.other.steps) == len(whatif.recorded.steps)


@pytest.fixture(params=PROVIDERS)
def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpSessionHarness]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer() as server:
        yield HttpSessionHarness(request.param, tmp_path, server, window=18_000)


def worker(request: ReceivedRequest) -> ModelAnswer:
    """Call read for a prompt, then answer; summarise when the request has no tools."""
    if not request.body.get("tools"):
        return says(SUMMARY).in_pieces(300)
    newest = str(request.body["messages"][-1])
    if "all is well" in newest:
        return says("It was read, and all is well with it.")
    return calls("read", path=f"log{len(request.body['messages']) % 4}.txt")


@pytest.mark.slow
async def test_what_a_server_received_is_what_a_replay_sends(harness: HttpSessionHarness) -> None:
    folder(harness.root)
    harness.server.script(*[worker] * 60)
    for number in range(6):
        answer = await harness.ask(f"Turn {number}: read a log.")
        assert answer.error is None
    await harness.check_requests()
    session = await harness.session()
    await session.journal.flush()

    whatif = check_log_laws(harness.harness.store, session.id)

    assert whatif.recorded.decisions or whatif.recorded.compactions
