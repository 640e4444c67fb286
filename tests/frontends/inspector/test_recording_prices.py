"""A recorded file has the same prices in a tab of the inspector as in Python, also those of models that are no longer sold."""

from pathlib import Path

import pytest
from tests.frontends.page_channel.test_inspector import asked
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording


@pytest.mark.slow
def test_a_model_that_is_no_longer_sold_has_its_price_in_every_place(tmp_path: Path) -> None:
    path = sample("openhands_v0.jsonl", tmp_path)
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest\n%agent sessions")
        kernel.request(type="watch", client="page")
        price = asked(kernel, 1, {"ask": "view"}, path=path.name)["view"]["price"]

    with open_recording(path) as recording:
        profile = recording[0].price(None)
    assert (price["unit"], price["source"]) == ("USD", profile.source)
    assert (price["input"], price["output"]) == (profile.input, profile.output) == (3, 15)
