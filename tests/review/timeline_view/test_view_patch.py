"""A patch makes of an older view the view that the session has now, wherever its log is cut."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recordings.decision_sessions import SCENES
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.recordings.reconstruction.test_replay_laws import OPERATIONS, folder, improvise
from tests.review.timeline_view.cut_store import CutStore
from tests.review.timeline_view.patched_view import patched
from tests.sample_size import sample_size, sampled_cases, slow_cases

from palimpsest.context.presets import PRESETS
from palimpsest.context_policies.registry import get
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.recorded_sessions.session_answers import GROWTH_EVENTS, SessionAnswers
from palimpsest.review.request_contents.sent_requests import SentRequests
from palimpsest.review.session_review import SessionReview
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_patch import patch_of
from palimpsest.review.timeline_view.view_queries import AskView
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy

CHECKED = sample_size(16, 1)
"""One record in so many is followed by a check against the whole log, and so is the last."""

DIFFERENT = ("compacted",)
"""A session that changes what a view holds in most ways."""


class Follower:
    """Has a view of a session, and asks for what came after it."""

    def __init__(self, store: Store, session_id: str) -> None:
        self.store = CutStore(store, session_id)
        self.session_id = session_id
        self.answers = SessionAnswers(cast("Any", self.store), session_id, lambda _model: None)
        self.view: TimelineView | None = None
        self.patches = 0
        self.wholes = 0

    def follow(self, until: int) -> None:
        """Follow the session up to a record."""
        self.store.until = until
        known = self.view
        query = AskView() if known is None else AskView(after=known.seq, epoch=known.epoch)
        answer = self.answers.answer(query)
        assert answer.error == ""
        if answer.patch is not None:
            assert known is not None
            self.view = patched(known, answer.patch)
            self.patches += 1
        elif answer.view is not None:
            self.view = answer.view
            self.wholes += 1
        else:
            assert answer.unchanged

    def check(self) -> None:
        """Check that the view is what a reader of the whole log is shown, by the same ruler."""
        assert self.view is not None
        timeline = timeline_of(cast("Any", self.store), self.session_id, counter)
        store = cast("Any", self.store)
        sent = SentRequests(store, self.session_id)
        review = SessionReview(
            timeline, get, lambda _model: None, sent, ruler=self.answers.review().ruler
        )
        fresh = timeline_view(review, seq=self.view.seq, epoch=self.view.epoch)
        assert self.view.model_dump() == fresh.model_dump()


def records_of(store: Store, session_id: str) -> list[int]:
    """Return the records after which a view is another one."""
    return [record.seq for record in store.read(session_id, only=GROWTH_EVENTS)][1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled_cases([*SCENES], *DIFFERENT))
async def test_patched_view_is_the_newer_one_at_every_record(name: str, tmp_path: Path) -> None:
    harness, session = await SCENES[name](tmp_path)
    follower = Follower(harness.store, session.id)

    records = records_of(harness.store, session.id)
    for index, seq in enumerate(records, start=1 - len(records)):
        follower.follow(seq)
        if index % CHECKED == 0:
            follower.check()

    assert follower.patches > follower.wholes
    await harness.workspace.close()


@pytest.mark.soak  # with each commit a patched view is the newer one at every record, above; this adds generated sessions
@pytest.mark.slow
@slow_cases(2, 100)
@given(
    st.lists(OPERATIONS, max_size=7),
    st.lists(st.integers(0, 200), min_size=10, max_size=60),
    st.sampled_from(list(PRESETS.values())),
    st.randoms(use_true_random=False),
)
def test_patched_view_is_the_newer_one_of_any_session(
    operations: list[tuple[str, Any]], draws: list[int], policy: Policy, chance: random.Random
) -> None:
    with TemporaryDirectory() as root:
        folder(Path(root))
        store, session = asyncio.run(improvise(Path(root), operations, draws, policy, 34_000))
        follower = Follower(store, session)
        records = records_of(store, session)

        for seq in sorted(chance.sample(records, min(6, len(records)))):
            follower.follow(seq)
            follower.check()


@pytest.mark.soak  # with each commit a patched view is the newer one at every record, above; this adds patches backwards and over many records
async def test_a_patch_makes_any_view_of_any_other(tmp_path: Path) -> None:
    harness, session = await SCENES["pruned"](tmp_path)
    follower = Follower(harness.store, session.id)
    views = []
    for seq in records_of(harness.store, session.id)[::7]:
        follower.follow(seq)
        views.append(follower.view)

    for earlier in views:
        for other in views:
            assert earlier is not None
            assert other is not None
            assert patched(earlier, patch_of(earlier, other)) == other
    await harness.workspace.close()


@pytest.mark.soak  # with each commit a patched view is the newer one at every record, beside it; this adds its size
async def test_a_request_more_takes_few_bytes(tmp_path: Path) -> None:
    harness, session = await SCENES["pruned"](tmp_path)
    follower = Follower(harness.store, session.id)
    sizes: list[int] = []
    for seq in records_of(harness.store, session.id):
        before = follower.view
        follower.follow(seq)
        if before is not None and follower.view is not None and before.epoch == follower.view.epoch:
            patch = patch_of(before, follower.view)
            sizes.append(len(patch.model_dump_json(exclude_none=True)))

    assert max(sizes) < 10_000
    assert sorted(sizes)[len(sizes) // 2] < 5_000
    await harness.workspace.close()


def test_picture_and_rest_are_the_whole_view(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    follower = Follower(store, report.sessions[0].id)
    follower.store.until = records_of(store, follower.session_id)[-1]

    picture = follower.answers.answer(AskView(part="picture")).view
    assert picture is not None
    rest = follower.answers.answer(AskView(part="rest", after=picture.seq, epoch=picture.epoch))
    assert rest.patch is not None
    assert rest.patch.view.items.id == ()
    assert rest.patch.view.used != ()
    follower.view = patched(picture, rest.patch)

    follower.check()
    assert (picture.is_picture, picture.wastes, picture.used, picture.proof) == (True, (), (), None)
    assert (picture.policies, picture.subagents, picture.recorded.figures) == ((), (), None)


def test_picture_is_made_without_any_text(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    timeline = timeline_of(store, report.sessions[0].id, counter)
    texts_read: list[int] = []

    def counted(item: int) -> str:
        texts_read.append(item)
        return timeline.read(item)

    review = SessionReview(replace(timeline, read=counted), get, lambda _model: None)

    assert timeline_view(review, is_picture=True).is_picture
    assert texts_read == []
    assert not timeline_view(review).is_picture
    assert len(set(texts_read)) > len(timeline.items) // 2


def test_rest_of_a_picture_that_is_not_known_any_more_is_the_whole_view(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    follower = Follower(store, report.sessions[0].id)
    follower.store.until = records_of(store, follower.session_id)[-1]
    picture = follower.answers.answer(AskView(part="picture", price="units")).view
    assert picture is not None

    rest = follower.answers.answer(AskView(part="rest", after=picture.seq, epoch=picture.epoch))

    assert rest.patch is None
    assert rest.view is not None
    assert not rest.view.is_picture


def test_a_view_of_another_price_or_epoch_is_no_base_of_a_patch(tmp_path: Path) -> None:
    store, report = import_file(sample("marshmallow-1867.traj", tmp_path))
    session = report.sessions[0].id
    follower = Follower(store, session)
    records = records_of(store, session)
    follower.follow(records[-9])
    known = follower.view
    assert known is not None

    follower.store.until = records[-1]
    at_units = follower.answers.answer(AskView(after=known.seq, epoch=known.epoch, price="units"))
    of_another = follower.answers.answer(AskView(after=known.seq, epoch="another"))

    assert (at_units.patch, of_another.patch) == (None, None)
    assert at_units.view is not None
    assert of_another.view is not None
