"""The samples with which the front end is tested are what the kernel answers."""

import gzip
import json

import pytest
from tests.review.timeline_view.view_samples import FOLDER, RECORDINGS, patches, samples


@pytest.mark.parametrize("name", RECORDINGS)
def test_front_end_is_tested_with_what_the_kernel_answers(name: str) -> None:
    stored = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))

    assert stored == json.loads(json.dumps(samples(name)))


def test_front_end_applies_the_patches_that_the_kernel_makes() -> None:
    stored = json.loads(gzip.decompress((FOLDER / "patches.json.gz").read_bytes()))

    assert stored == json.loads(json.dumps(patches()))
