"""Every number of docs/teaching-a-dear-request.md is one of the recording that the page teaches with."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording
from palimpsest.review.timeline_view.timeline_view import timeline_view
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskTrack
from palimpsest.review.timeline_view.view_values import TimelineView, TrackView

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "teaching-a-dear-request.md").read_text("utf-8")
DEAR = 209
TAUGHT = (212, DEAR, 416)
IDLE, BEFORE = 291, 208
KEPT = (5, 30)
"""Numbers of results that ``sweagent.last_n`` keeps in the page's last question."""
PICTURE = re.compile(r"\((images/[^)]+)\)")


@pytest.fixture(scope="module")
def taught(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[TimelineView, TrackView, list[TrackView]]]:
    """The view of the session, the track of the policy that the page ends with, and those of its last question."""
    folder = tmp_path_factory.mktemp("taught")
    with open_recording(sample("pi_large_session.jsonl", folder)) as recording:
        review = recording[0]
        answers = ViewAnswers(review)

        def track(policy: str) -> TrackView:
            found = answers.answer(AskTrack(policy=policy)).track
            assert found is not None
            return found

        asked = [track(f"sweagent.last_n n={kept}") for kept in KEPT]
        yield timeline_view(review), track("opencode.prune"), asked


def of_request(view: TimelineView, number: int) -> Iterator[str]:
    """Yield the number of a request, its tokens, and its cost with and without its break."""
    place = number - 1
    tokens, read, cost = (
        column[place] for column in (view.requests.reported, view.requests.read, view.requests.cost)
    )
    assert tokens is not None
    assert read is not None
    assert cost is not None
    yield from (str(number), f"{tokens:,}", f"{cost:.2f}")
    broken = next(
        (cache_break for cache_break in view.breaks if cache_break.request == place), None
    )
    if broken is None:
        yield f"{read:,}"
    else:
        yield from (f"{broken.loss:,}", f"{broken.cost:.2f}", f"{cost - broken.cost:.2f}")
        yield f"{tokens - read - broken.loss:,}"


def with_refetching(track: TrackView) -> float:
    """Return what a track costs as the second line of the inspector says it."""
    figures = track.figures
    assert figures is not None
    return figures.cost + (figures.summaries or 0) + (figures.refetching or 0)


def numbers(view: TimelineView, track: TrackView, asked: list[TrackView]) -> Iterator[str]:
    """Yield every number that the page may have."""
    assert view.recorded.facts is not None
    assert view.recorded.facts.cost is not None
    yield from (str(len(view.requests.id)), f"{view.recorded.facts.cost:.2f}")
    yield from (
        str(len(view.breaks)),
        f"{sum(cache_break.cost for cache_break in view.breaks):.2f}",
    )
    for number in TAUGHT:
        yield from of_request(view, number)
    idle = next(cache_break for cache_break in view.breaks if cache_break.request == IDLE - 1)
    told = f"{IDLE} {idle.cost:.2f} {idle.words} {idle.avoided_by} {' '.join(view.break_notes)}"
    yield from figures(told)
    yield from (str(BEFORE), str(track.fired[0] + 1))
    recorded, cost = with_refetching(view.recorded), with_refetching(track)
    yield from (f"{recorded:.2f}", f"{cost:.2f}", f"{100 * (recorded - cost) / recorded:.0f}")
    for kept, of_question in zip(KEPT, asked, strict=True):
        assert of_question.figures is not None
        yield from (str(kept), f"{of_question.figures.input / 1_000_000:.1f}")
        yield f"{with_refetching(of_question):.2f}"


def figures(text: str) -> list[str]:
    """Return the numbers in a text, such as 1,234 and 0.56."""
    return re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)


@pytest.mark.soak  # with each commit the pictures of the page are there, below; this adds its numbers
def test_every_number_of_the_page_is_the_recordings(
    taught: tuple[TimelineView, TrackView, list[TrackView]],
) -> None:
    allowed = set(numbers(*taught))
    told = re.sub(r"^## \d\.", "##", PAGE, flags=re.MULTILINE)
    found = figures(PICTURE.sub("", told))

    assert len(found) > 50
    assert [cache_break for cache_break in found if cache_break not in allowed] == []


@pytest.mark.soak  # with each commit the pictures of the page are there, below; this adds what it says of the breaks
def test_what_the_page_says_of_the_breaks_is_so(taught: tuple[TimelineView, TrackView]) -> None:
    view, track, asked = taught
    broken = {cache_break.request + 1 for cache_break in view.breaks}
    costs = [cost or 0 for cost in view.requests.cost]

    assert [number in broken for number in TAUGHT] == [False, True, True]
    assert max(range(len(costs)), key=costs.__getitem__) + 1 == 416
    assert max(number for number in broken if number < 212) == 209
    assert len(track.fired) == 1
    assert track.fired[0] + 1 in broken
    assert {DEAR - 1, track.fired[0]} <= {*track.taken}
    few, many = (of_question.figures for of_question in asked)
    assert few is not None
    assert many is not None
    assert many.break_tokens > 2 * few.break_tokens
    assert view.items.entered.count(208) == 2  # an answer and a prompt
    assert view.requests.model[208] == view.requests.model[207]
    assert view.requests.effort[208] == view.requests.effort[207]
    started, ended = view.requests.started[208], view.requests.ended[207]
    assert started is not None
    assert ended is not None
    assert started - ended < 300_000
    assert "29 unexplained, 4 idle, 4 effort" in view.break_notes
    first, *others = view.waste_kinds
    assert (first.words, round(first.cost, 2)) == ("37 breaks of the cache", 14.21)
    assert sum(other.cost for other in others if "result" in other.words) < 0.5


def test_its_pictures_are_there() -> None:
    pictures = PICTURE.findall(PAGE)

    assert len(pictures) == 5
    assert [picture for picture in pictures if not (DOCS / picture).is_file()] == []
    assert [picture for picture in pictures if (DOCS / picture).stat().st_size > 200_000] == []
