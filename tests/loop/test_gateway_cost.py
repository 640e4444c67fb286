"""A cost that is only an estimate is told as one, wherever a person reads it."""

from pathlib import Path

import pytest
from tests.harness.http_session import HttpSessionHarness

from palimpsest.frontends.operations.status import _cost_text
from palimpsest.render.content.phrases import step_text
from palimpsest.testing import FaultServer, says
from palimpsest.transcript.parts import StepFinishPart
from palimpsest.transcript.values import Price


@pytest.mark.parametrize(
    ("listed_as", "price", "mark"),
    [
        ("gpt-5.4", Price(input=3.0, output=15.0), "~$"),
        (None, Price(input=3.0, output=15.0), " $"),
        ("gpt-5.4", Price(), "cost unknown"),
        ("gpt-5.4", Price(input=0.0, output=0.0), "$0"),
    ],
)
async def test_a_cost_behind_a_gateway_is_told_as_an_estimate(
    listed_as: str | None, price: Price, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    with FaultServer(says("Done.").reports(input=10_000, output=100)) as server:
        http = HttpSessionHarness("openai", tmp_path, server)
        info = http.harness.info(http.id)
        http.harness.narrow(info.model_copy(update={"listed_as": listed_as, "price": price}))

        await http.ask("Go")

    session = await http.session()
    picture = session.snapshot()
    (part,) = [
        part
        for message in picture.messages
        for part in message.parts
        if isinstance(part, StepFinishPart)
    ]
    line = step_text(part, 1)
    assert mark in line
    assert ("~" in line) == (mark == "~$")
    assert _cost_text(picture).startswith("~") == (mark == "~$")
