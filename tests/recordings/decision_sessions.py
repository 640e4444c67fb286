"""Sessions with every kind of decision, made by the live loop with a scripted model."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.harness.session import SessionHarness, ask, until
from tests.loop.context_management.test_compaction_model import two_models
from tests.loop.context_management.test_compaction_parts import grown, part
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.sample_size import sampled_cases
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import PRESETS
from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, calls, overflows, says, stalls
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.parts import ToolPart

Scene = Callable[[Path], Awaitable[tuple[SessionHarness, LiveSession]]]

NO_PRUNE = policy_with_changes(Policy(), {"prune.rule": "none"})


async def truncated(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """Long tool outputs, one of them with an error at its end, and a short one."""
    harness, _ = make_fit_harness(
        tmp_path,
        calls("bash", command="seq 1 4000").calls("bash", command="echo short"),
        calls("bash", command="seq 1 9000; echo; echo 'ValueError: no such column'"),
        says("Done."),
        window=60_000,
    )
    session = await harness.session()
    await ask(session, "Count.", yes=True)
    return harness, session


async def pruned(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """Outputs are pruned in the middle of a long turn, and again later."""
    answers = [*reads(0, 1, 2, 3, 4, 5), says("Well."), *reads(6, 7, 0, 1), says("Well.")]
    harness, _ = make_fit_harness(tmp_path, *answers)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Read the others, too.")
    return harness, session


async def cold(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The provider's cache expires between two prompts."""
    answers = [*reads(0, 1, 2, 3, 4, 5), *[says("Well.")] * 4]
    harness, _ = make_fit_harness(tmp_path, *answers, window=40_000, caching=True)
    session = await harness.session()
    for prompt in ("Read the logs.", "Sure?", "Really?"):
        await ask(session, prompt)
    harness.clock.now += 6 * 60 * 1000
    await ask(session, "And now?")
    return harness, session


async def cold_openclaw(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The same under a policy whose decisions hold for one request."""
    answers = [*reads(0, 1, 2, 3, 4, 5), *[says("Well.")] * 4]
    policy = policy_with_changes(
        PRESETS["openclaw-2026.2"], {"prune.soft_ratio": 0.01, "prune.keep_assistants": 1}
    )
    harness, _ = make_fit_harness(tmp_path, *answers, window=60_000, caching=True, policy=policy)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    harness.clock.now += 6 * 60 * 1000
    await ask(session, "And now?")
    await ask(session, "And then?")
    return harness, session


async def after_turn(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """OpenCode's rule, which prunes after a turn."""
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    answers = [calls("read", path=f"big{number}.txt") for number in range(8)]
    harness, _ = make_fit_harness(
        tmp_path, *answers, *[says("Well.")] * 4, window=400_000, policy="opencode-1.1"
    )
    session = await harness.session()
    for prompt in ("Read the eight files.", "Again?", "And again?", "And now?"):
        await ask(session, prompt)
    return harness, session


async def shortened(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """Oversized results are truncated before a summary is requested."""
    lines = [f"{line} a line of a very long log that nobody reads" for line in range(1_000)]
    harness, _ = make_fit_harness(
        tmp_path,
        calls("read", path="long.txt", limit=600).reports_nothing(),
        calls("read", path="log1.txt", limit=180).reports_nothing(),
        says("All is well."),
        window=32_000,
        policy="openclaw-2026.9",
    )
    (tmp_path / "long.txt").write_text("\n".join(lines))
    session = await harness.session()
    await ask(session, "Read the logs.")
    return harness, session


async def compacted(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A compaction in the middle of a turn, after which the work continues."""
    answers = [*reads(0, 1, 2, 3, 4, 5), says(SUMMARY), says("Well."), says("Yes.")]
    harness, _ = make_fit_harness(tmp_path, *answers, policy=NO_PRUNE)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    return harness, session


async def compacted_by_hand(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A manual compaction between two turns."""
    answers = [*reads(0, 1), says("Well."), says("More."), says(SUMMARY), says("Yes.")]
    harness, _ = make_fit_harness(tmp_path, *answers, window=60_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact("the numbers"), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    return harness, session


async def failed_summary(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A summary fails its check, so results are truncated instead."""
    answers = [*reads(0, 1, 2, 3, 4, 5), says("Too short."), says("Well."), says("Yes.")]
    harness, _ = make_fit_harness(tmp_path, *answers, policy=NO_PRUNE)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    return harness, session


async def refused(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The provider refuses a request as too long."""
    answers = [*reads(0, 1), overflows(), says(SUMMARY), says("Well."), says("Yes.")]
    harness, _ = make_fit_harness(tmp_path, *answers, window=100_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    return harness, session


async def changed_policy(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The user changes the policy between two prompts."""
    answers = [*reads(0, 1, 2), says("Well."), *reads(3, 4, 5), *[says("Well.")] * 3]
    harness, _ = make_fit_harness(tmp_path, *answers, window=90_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    await session.use_policy("opencode-1.18")
    await ask(session, "Read the others.")
    await session.use_policy("default", "prune.protect_tokens=1000", "prune.minimum_tokens=100")
    await ask(session, "Sure?")
    await session.use_policy("prune.protect_tokens=2000")
    await ask(session, "Really?")
    return harness, session


async def edited(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """Outputs are pinned, excluded and restored by the user, and a compaction is undone."""
    answers = [*reads(0, 1, 2), says("Well."), *reads(3), says("Well."), says(SUMMARY)]
    harness, _ = make_fit_harness(tmp_path, *answers, *[says("Yes.")] * 4, window=60_000)
    session = await harness.session()
    await ask(session, "Read the logs.")
    found = [p for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    session.edit_context("exclude", found[0].id)
    session.edit_context("pin", found[1].id)
    await ask(session, "Read one more.")
    session.edit_context("restore", found[0].id)
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    session.edit_context("undo")
    await ask(session, "Really?")
    return harness, session


async def reported_full(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """OpenCode's rule, which compacts when an answer's reported usage is too high."""
    answers = [
        *reads(0, 1),
        calls("read", path="log2.txt").reports(input=39_000, output=20),
        says(SUMMARY),
        says("Well."),
        says("Yes.").reports(input=39_500, output=10),
        says(SUMMARY),
        says("I stop here."),
        says("Yes."),
    ]
    harness, _ = make_fit_harness(tmp_path, *answers, window=40_000, policy="opencode-1.18")
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    await ask(session, "Really?")
    return harness, session


async def steered(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A user's prompt joins a running turn."""
    waiting: list[asyncio.Task[object]] = []

    loop = asyncio.get_running_loop()

    def steer() -> None:
        words = ask(session, "Only the first lines.", delivery="steer")
        waiting.append(loop.create_task(words))

    def slow(_request: ModelRequest) -> ModelAnswer:
        loop.call_soon_threadsafe(steer)
        return calls("bash", command="sleep 0.1")

    harness, _ = make_fit_harness(tmp_path, *reads(0), slow, *[says("Well.")] * 4)
    session = await harness.session()
    await ask(session, "Read the logs.", yes=True)
    await asyncio.gather(*waiting)
    await ask(session, "Sure?")
    return harness, session


async def in_parts(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A summary in several requests, each for a part of the conversation."""
    answers = [says(part(number)) for number in (1, 2, 3)]
    harness, _, session = await grown(tmp_path, *answers, *[says("Well.")] * 3)
    await ask(session, "And now?")
    await ask(session, "Sure?")
    return harness, session


async def by_another_model(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A summary is written by another model."""
    writes = ScriptedModel(says(SUMMARY))
    harness, _, session = await two_models(tmp_path, writes, says("It is 43.92."), says("Yes."))
    await ask(session, "What was the mean? " + "word " * 1_600)
    await ask(session, "Sure?")
    return harness, session


async def stopped_summary(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The user stops a summary, and continues."""
    answers = [*reads(0, 1, 2, 3, 4, 5), stalls(), says("Well."), says(SUMMARY), says("Yes.")]
    harness, model = make_fit_harness(tmp_path, *answers, policy=NO_PRUNE)
    session = await harness.session()
    running = asyncio.create_task(ask(session, "Read the logs."))
    await until(lambda: model.requests and model.requests[-1].purpose == "compaction")
    session.cancel()
    await running
    session.edit_context("exclude", "last")
    await ask(session, "Go on.")
    await ask(session, "Sure?")
    return harness, session


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        truncated,
        pruned,
        cold,
        cold_openclaw,
        after_turn,
        shortened,
        compacted,
        compacted_by_hand,
        failed_summary,
        refused,
        changed_policy,
        edited,
        reported_full,
        in_parts,
        by_another_model,
        stopped_summary,
        steered,
    )
}
SOME_SCENES = sampled_cases(
    [*SCENES],
    *("truncated", "pruned", "cold_openclaw", "compacted", "edited", "in_parts", "stopped_summary"),
)
"""Names of sessions that differ most, for what is checked of every session in several ways."""
