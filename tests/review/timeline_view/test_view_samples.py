"""The samples with which the front end is tested are what the kernel answers."""

import gzip
import json
from collections import Counter
from typing import Any

import pytest
from tests.review.timeline_view.view_samples import FOLDER, LIMITS, RECORDINGS, patches, samples
from tests.sample_size import thinned


@pytest.mark.parametrize("name", thinned(RECORDINGS, 2, 1))
def test_front_end_is_tested_with_what_the_kernel_answers(name: str) -> None:
    stored = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))

    assert stored == json.loads(json.dumps(samples(name)))


def test_front_end_applies_the_patches_that_the_kernel_makes() -> None:
    stored = json.loads(gzip.decompress((FOLDER / "patches.json.gz").read_bytes()))

    assert stored == json.loads(json.dumps(patches()))


def test_a_request_has_the_listed_limit_of_its_model_where_none_is_recorded() -> None:
    view = _stored("pi")["view"]
    requests, models = view["requests"], [*view["models"], ""]

    expected = [LIMITS.by_model.get(models[at], 0) for at in requests["model"]]

    assert 0 < sum(size > 0 for size in expected) < len(expected)
    assert requests["window"] == expected


def test_a_view_tells_before_which_requests_items_were_reduced() -> None:
    view = _stored("swe_agent")["view"]
    moves, entered = view["recorded"]["transitions"], view["items"]["entered"]
    rows = zip(moves["item"], moves["request"], moves["state"], strict=True)

    reduced = Counter(at for item, at, state in rows if state != "whole" and entered[item] < at)

    assert reduced
    assert {pruned["request"]: pruned["items"] for pruned in view["pruned"]} == reduced


def _stored(name: str) -> Any:
    """Return a sample, which the first test holds to what the kernel answers."""
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
