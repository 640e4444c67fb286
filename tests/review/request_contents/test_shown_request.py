"""A request with its contents is what was sent, or what a policy would have sent."""

import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.harness.session import SessionHarness, ask, requested
from tests.recordings.decision_sessions import SCENES, SOME_SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.review.request_contents.reviewed import imported_review, pi_review, review_of
from tests.sample_size import thinned
from tests.session.extensions.test_hooks import make_harness

from palimpsest.context_policies.registry import get
from palimpsest.model.script import says
from palimpsest.model.wire.provider_messages import message_hash, request_hash, without_marks
from palimpsest.review.recorded_sessions.growing_review import GrowingReview
from palimpsest.review.request_contents.shown_request import FoundText, ShownRequest
from palimpsest.review.session_review import SessionReview
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError

POLICIES = ("recorded", "raw", "opencode.prune", "sweagent.last_n", "pi.compact window=64000")
HOSTILE = "<script>alert(1)</script> | `x` \x1b[31m"


def token_sum(shown: ShownRequest) -> float:
    return sum(block.tokens for block in (*shown.blocks, *shown.outside_blocks))


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(SOME_SCENES, 6))
async def test_every_request_of_ours_has_the_hash_that_was_recorded(
    name: str, tmp_path: Path
) -> None:
    harness, session = await SCENES[name](tmp_path)
    sent = {
        record.request.message_id: record.request.sha256
        for record in requested(await harness.records(session))
        if record.request.purpose == "step"
    }
    review = review_of(harness.store, session.id)

    for request in review.timeline.requests:
        shown = review.request(request.index + 1)
        hashes = (message_hash(without_marks(message)) for message in shown.body["messages"])
        assert shown.basis == "exact"
        assert shown.sha256 == sent[request.id] == request_hash(hashes)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(SOME_SCENES, 6, 1))
async def test_blocks_of_every_request_of_ours_add_up_to_its_size(
    name: str, tmp_path: Path
) -> None:
    harness, session = await SCENES[name](tmp_path)
    review = review_of(harness.store, session.id)

    for policy in ("recorded", "sweagent.last_n n=1"):
        sizes = review.compare(policy, price="units")[0].sizes
        for request, size in enumerate(sizes, 1):
            shown = review.request(request, policy)
            assert shown.tokens == size.total
            assert token_sum(shown) == pytest.approx(size.total)


async def test_each_block_of_ours_names_its_item(tmp_path: Path) -> None:
    harness, session = await SCENES["edited"](tmp_path)
    review = review_of(harness.store, session.id)

    shown = review.request(7)
    quoted = next(
        block for block in shown.blocks if block.text.startswith("Kept at the user's request")
    )
    texts_without_item = [block.text for block in shown.blocks if block.item is None]

    assert quoted.item is not None
    assert review.timeline.items[quoted.item].pinned
    assert texts_without_item == ["What did we do so far?"]
    assert shown.system.startswith("You are ")
    assert {tool["name"] for tool in shown.tools} >= {"read"}


@pytest.mark.parametrize("policy", thinned(POLICIES, 4))
def test_blocks_under_a_policy_add_up_to_what_its_replay_reports(policy: str) -> None:
    review = pi_review()
    sizes = review.compare(policy)[0].sizes

    for request in (1, 70, 200, 300, 453):
        shown = review.request(request, policy)
        assert token_sum(shown) == pytest.approx(sizes[request - 1].total)


def test_every_request_of_swe_agent_is_the_recorded_one(tmp_path: Path) -> None:
    name = "marshmallow-1867.traj"
    review = imported_review(name, tmp_path)
    path = sample(name, tmp_path)
    text = path.read_bytes()
    data = json.loads(lzma.decompress(text) if path.suffix == ".xz" else text)
    steps = [step["messages"] for step in data["trajectory"] if "messages" in step]

    # A step of this format holds the request after it.
    assert len(review.timeline.requests) == len(steps) == 13
    assert [message.role for message in review.request(1).messages] == ["system", "user"]
    for number, messages in enumerate(steps[:-1], 2):
        shown = review.request(number)
        contents = [
            (message.role, getattr(message.blocks[0], "text", "")) for message in shown.messages
        ]
        assert shown.basis == "rebuilt"
        assert shown.system == messages[0]["content"]
        assert contents == [(message["role"], message["content"]) for message in messages]
    assert any("lines omitted" in block.text for block in review.request(13).blocks)


def test_a_policy_shows_its_texts_in_the_place_of_items() -> None:
    masked = pi_review().request(300, "sweagent.last_n")
    reduced = [block for block in masked.blocks if block.state == "masked"]

    assert masked.basis == "estimate"
    assert reduced
    assert all("omitted" in text_block.text for text_block in reduced)
    assert pi_review().request(2, "sweagent.last_n").basis == "rebuilt"


def test_a_summary_that_was_never_written_is_said_to_be_one() -> None:
    [summary] = [
        block
        for block in pi_review().request(100, "pi.compact window=64000").blocks
        if block.state == "summarised"
    ]

    assert summary.text == "[A summary of 1,500 tokens that was never written.]"


def test_a_text_is_found_with_its_block_and_place() -> None:
    shown = pi_review().request(300)
    found = shown.find("TUI-Renderer")

    assert found
    for match in found:
        text = shown.blocks[match.block].text
        assert text[match.offset : match.offset + 12].casefold() == "tui-renderer"
    assert shown.find(".*") == tuple(
        FoundText(index, number)
        for index, block in enumerate(shown.blocks)
        for number in range(len(block.text))
        if block.text.startswith(".*", number)
    )
    assert shown.find("") == ()


async def test_a_request_that_a_hook_wrote_is_shown_as_it_was_stored(tmp_path: Path) -> None:
    def rewrite(event: Any) -> list[dict[str, Any]]:
        return [event.messages[0], {"role": "user", "content": "Say boo."}]

    harness = make_harness(tmp_path, ScriptedModel(says("Boo.")), ("request", rewrite))
    session = await harness.session()
    await ask(session, "Hello")
    await session.journal.flush()

    shown = review_of(harness.store, session.id).request(1)

    assert shown.basis == "exact"
    assert shown.body["messages"][1:] == [{"role": "user", "content": "Say boo."}]
    assert [block.text for block in shown.blocks[1:]] == ["Say boo."]
    assert {block.kind for block in shown.outside_blocks} == {"user", "tools", "system"}
    assert token_sum(shown) == pytest.approx(shown.tokens)


async def test_a_request_whose_contents_are_gone_is_shown_as_far_as_they_are_there(
    tmp_path: Path,
) -> None:
    store = JsonlStore(open_project_folder(tmp_path))
    harness = SessionHarness(tmp_path, ScriptedModel(says("Well.")), store=store)
    session = await harness.session()
    await ask(session, "Hello")
    await session.journal.flush()
    await harness.workspace.close()
    shutil.rmtree(tmp_path / ".palimpsest" / "blobs")

    shown = review_of(JsonlStore(open_project_folder(tmp_path)), session.id).request(1)

    assert shown.basis == "rebuilt"
    assert "Hello" in [block.text for block in shown.blocks]
    assert shown.sha256 is None


@pytest.mark.soak  # with each commit blocks under a policy add up, above; this adds the formats of other agents
@pytest.mark.parametrize(
    "name",
    thinned(
        ["claude_code", "cline", "inspect_summary.eval", "otel_genai.jsonl", "pi_version_3.jsonl"],
        2,
    ),
)
def test_requests_of_other_agents_are_shown_under_any_policy(name: str, tmp_path: Path) -> None:
    store, report = import_file(sample(name, tmp_path))

    for session in report.sessions:
        review = review_of(store, session.id)
        for policy in ("recorded", "sweagent.last_n n=1", "learn_claude_code.auto trigger=3000"):
            for request in range(1, len(review.timeline.requests) + 1):
                shown = review.request(request, policy, summary="extract(200)")
                assert token_sum(shown) == pytest.approx(shown.tokens)
                assert json.loads(json.dumps(shown.json()))["request"] == request
                assert shown.basis in ("rebuilt", "partial", "estimate")


def test_html_cuts_long_texts_and_says_how_much_is_left() -> None:
    shown = pi_review().request(400)

    assert len(shown.html) - len(shown.table.html) < 4 * 60_000
    assert "more characters; .contents has all" in shown.html


def made_review() -> SessionReview:
    maker = TimelineMaker()
    maker.system("Be good.")
    maker.prompt(HOSTILE)
    maker.answer(calls=[Call("read", HOSTILE, (("path", "a.txt"),))])
    return SessionReview(maker.made(), get, lambda _model: None)


def test_what_a_request_holds_is_escaped_in_every_form() -> None:
    shown = made_review().request(2)

    assert "<script>" not in shown.html
    assert "<script>" not in shown.markdown
    assert "\x1b" not in shown.text + shown.html + shown.contents
    assert HOSTILE in [block.text for block in shown.blocks]
    assert json.loads(json.dumps(shown.json()))["blocks"][1]["text"] == HOSTILE
    assert shown.to_dataframe()["kind"].tolist() == ["system", "user", "call", "output"]


def test_a_request_that_is_not_exact_has_a_body_as_a_provider_would_get_it() -> None:
    body = made_review().request(2).body

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    call = body["messages"][2]["tool_calls"][0]
    assert call["function"]["name"] == "read"
    assert json.loads(call["function"]["arguments"]) == {"path": "a.txt"}
    assert body["messages"][3]["tool_call_id"] == call["id"]


@pytest.mark.parametrize("request_number", [0, -1, 454, 10**6])
def test_a_request_that_does_not_exist_is_said_in_one_sentence(request_number: int) -> None:
    with pytest.raises(UserError, match="numbered from 1 to 453"):
        pi_review().request(request_number)


@pytest.mark.parametrize(
    ("name", "kinds", "lacking"),
    [
        ("marshmallow-1867.traj", ["system"], []),
        ("codex_rollout.jsonl", ["system"], ["tools"]),
        ("inspect_plain.eval", ["tools", "tools", "system"], [""]),
    ],
)
def test_what_came_with_a_recording_is_in_its_requests_and_only_the_rest_is_not(
    name: str, kinds: list[str], lacking: list[str], tmp_path: Path
) -> None:
    review = imported_review(name, tmp_path)

    shown = review.request(1)

    blocks_without_item = [block for block in shown.blocks if block.item is None]
    assert [block.kind for block in blocks_without_item] == kinds
    assert shown.system == blocks_without_item[-1].text
    assert shown.find(shown.system[:40])[0].block == len(blocks_without_item) - 1
    assert all(block.tokens > 0 for block in blocks_without_item)
    endings = [f": {word}" if word else "" for word in lacking]
    assert [block.text for block in shown.outside_blocks] == [
        f"[What every request held and the recording does not show{lack}.]" for lack in endings
    ]
    token_sum = sum(block.tokens for block in (*shown.blocks, *shown.outside_blocks))
    assert token_sum == pytest.approx(shown.tokens)


def test_a_recording_without_usage_counts_the_system_prompt_that_came_with_it(
    tmp_path: Path,
) -> None:
    review = imported_review("marshmallow-1867.traj", tmp_path)

    assert review.ruler.unseen_tokens == 447  # a quarter of its 1,786 characters
    assert review.ruler.sentence == (
        "Tokens are 1 x chars/4 of the items + 447 of system prompt and tools (assumed)."
    )


def test_a_review_that_grows_counts_as_one_that_is_read_whole(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    session = report.sessions[0].id
    growing = GrowingReview(store, session, lambda _model: None, get)

    assert growing.review().ruler == review_of(store, session).ruler
