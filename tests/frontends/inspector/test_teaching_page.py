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
TAUGHT = (212, 209, 416)
IDLE, BEFORE = 291, 208
PICTURE = re.compile(r"\((images/[^)]+)\)")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TimelineView, TrackView]]:
    """The view of the session, and the track of the policy that the page ends with."""
    folder = tmp_path_factory.mktemp("taught")
    with open_recording(sample("pi_large_session.jsonl", folder)) as recording:
        review = recording[0]
        track = ViewAnswers(review).answer(AskTrack(policy="opencode.prune")).track
        assert track is not None
        yield timeline_view(review), track


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


def numbers(view: TimelineView, track: TrackView) -> Iterator[str]:
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


def figures(text: str) -> list[str]:
    """Return the numbers in a text, such as 1,234 and 0.56."""
    return re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)


@pytest.mark.soak  # with each commit the pictures of the page are there, below; this adds its numbers
def test_every_number_of_the_page_is_the_recordings(
    taught: tuple[TimelineView, TrackView],
) -> None:
    allowed = set(numbers(*taught))
    told = re.sub(r"^## \d\.", "##", PAGE, flags=re.MULTILINE)
    found = figures(PICTURE.sub("", told))

    assert len(found) > 50
    assert [cache_break for cache_break in found if cache_break not in allowed] == []


@pytest.mark.soak  # with each commit the pictures of the page are there, below; this adds what it says of the breaks
def test_what_the_page_says_of_the_breaks_is_so(taught: tuple[TimelineView, TrackView]) -> None:
    view, track = taught
    broken = {cache_break.request + 1 for cache_break in view.breaks}
    costs = [cost or 0 for cost in view.requests.cost]

    assert [number in broken for number in TAUGHT] == [False, True, True]
    assert max(range(len(costs)), key=costs.__getitem__) + 1 == 416
    assert max(number for number in broken if number < 212) == 209
    assert len(track.fired) == 1
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
