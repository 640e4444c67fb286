"""litellm's proxy sends the same for a request that is asked directly as for one through litellm, and its answers are read alike.

The proxy parses what we send and writes the two formats with its own code, so it judges both directions.
"""

import asyncio
from dataclasses import replace

import pytest
from tests.model.adapter_requests import info, request, run
from tests.model.direct.test_both_ways import ANSWERS, compare
from tests.model.direct.test_direct_bodies import REQUESTS, received, request_of
from tests.servers.litellm_proxy import KEY

from palimpsest.model.adapter.litellm_model import LitellmModel
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.testing import FaultServer, ReceivedRequest, says

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200), pytest.mark.usefixtures("litellm")]

ASKED = [
    ("openai", "chat"),
    ("my-server", "chat"),
    ("hosted_vllm", "chat"),
    ("openai", "claude"),
    ("anthropic", "claude"),
]
"""Providers, by whose format the proxy is asked, and the models behind it."""
asked_for = pytest.mark.parametrize(("provider", "name"), ASKED)


@pytest.fixture(autouse=True)
def keys(behind: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for provider, _ in ASKED:
        monkeypatch.setenv(f"{provider.upper().replace('-', '_')}_API_KEY", KEY)
    behind._answers.clear()
    behind.requests.clear()


def ways() -> tuple[DirectModel, LitellmModel]:
    litellm = LitellmModel(read_timeout_seconds=60.0)
    return DirectModel(litellm, read_timeout_seconds=60.0), litellm


def place(proxy: str, provider: str) -> str:
    return proxy if provider == "anthropic" else f"{proxy}/v1"


@asked_for
@pytest.mark.parametrize("case", ANSWERS)
async def test_an_answer_through_the_proxy_is_the_same_on_both_ways(
    behind: FaultServer, proxy: str, provider: str, name: str, case: str
) -> None:
    answer = ANSWERS[case]
    counted = answer.reports(input=20, output=9) if answer.usage == "natural" else answer
    asked = request(info(provider, name=name, api_base=place(proxy, provider)))
    behind.script(counted, counted)

    direct, litellm = ways()
    ours, sent = await run(asked, direct), len(behind.requests)
    theirs = await run(asked, litellm)

    compare((f"{provider}, by proxy", case), ours, theirs)
    assert (sent, len(behind.requests)) == (1, 2), "nothing is sent twice"


@asked_for
async def test_what_the_proxy_sends_on_is_the_same_on_both_ways(
    behind: FaultServer, proxy: str, provider: str, name: str
) -> None:
    direct, litellm = ways()
    compared = 0
    for case in REQUESTS:
        asked = request_of(f"{provider}/{name}", case, behind)
        there = asked.model.model_copy(update={"api_base": place(proxy, provider)})
        asked = replace(asked, model=there)
        if direct.reason(asked) is not None:
            continue
        compared += 1
        behind._answers[:] = [says("Hi.")] * 2
        sent, wanted = [await received(one, asked, behind) for one in (direct, litellm)]
        if isinstance(sent, ReceivedRequest) and isinstance(wanted, ReceivedRequest):
            assert (sent.path, sent.body) == (wanted.path, wanted.body), case
        else:
            assert sent == wanted, case
    assert compared >= len(REQUESTS) / 2, "asked directly"


@asked_for
@pytest.mark.parametrize("direct", [True, False])
async def test_a_cancel_reaches_the_server_behind_the_proxy(
    behind: FaultServer,
    proxy: str,
    provider: str,
    name: str,
    direct: bool,  # noqa: FBT001 - a row of the table
) -> None:
    behind.script(says("One two three").stalls())
    asked = request(info(provider, name=name, api_base=place(proxy, provider)))
    heard = asyncio.Event()

    async def listen() -> None:
        async for _ in ways()[0 if direct else 1].stream(asked):
            heard.set()

    listening = asyncio.create_task(listen())
    await heard.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening

    assert await asyncio.to_thread(behind.wait_until, lambda: behind.open_connections == 0, 60.0)
