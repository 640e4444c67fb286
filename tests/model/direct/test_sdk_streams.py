"""Streams that OpenAI's and Anthropic's own libraries are tested with are read alike on both ways, however they are cut."""

import tarfile
from pathlib import Path

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.direct.test_both_ways import comparable, told
from tests.model.raw_server import answer, serving

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.interface import StepFinished

pytestmark = pytest.mark.usefixtures("litellm")

with tarfile.open(Path(__file__).with_name("sdk_streams.tar.xz")) as packed:
    STREAMS = {
        member.name.removesuffix(".txt"): found.read()
        for member in packed
        if (found := packed.extractfile(member)) is not None
    }
"""NOTICE says where they come from."""


@pytest.mark.parametrize("name", STREAMS)
async def test_a_stream_of_a_providers_own_tests_is_read_alike(name: str) -> None:
    provider = name.partition("_")[0]
    litellm = LitellmModel(read_timeout_seconds=20.0)
    found = []

    for model in (DirectModel(litellm, read_timeout_seconds=20.0), litellm):
        async with serving(answer(STREAMS[name], kind="text/event-stream")) as place:
            base = f"http://{place}/v1" if provider == "openai" else f"http://{place}"
            events, error = await run(request(info(provider, api_base=base)), model)
        found.append((comparable(repr(events)), told(error)))
        assert any(isinstance(event, StepFinished) for event in events)

    assert found[0] == found[1]
