"""An image and a PDF that a tool read are stored as blobs and sent in the provider's format."""

import base64
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.provider_rules.dialects import problems

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import ToolCompleted, ToolPart


def picture() -> bytes:
    out = io.BytesIO()
    Image.effect_noise((300, 300), 90).convert("RGB").save(out, "PNG")
    return out.getvalue()


PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


@pytest.fixture(params=PROVIDERS)
async def harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HttpSessionHarness]:
    """A harness with a vision model, whose every request is compared with what the server received."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    with FaultServer(check=problems) as server:
        harness = HttpSessionHarness(request.param, tmp_path, server)
        info = harness.harness.info(harness.id)
        harness.harness.narrow(info.model_copy(update={"vision": True}))
        yield harness
        await harness.check_requests()


async def test_what_a_tool_attached_reaches_the_model_in_every_later_request(
    harness: HttpSessionHarness,
) -> None:
    image = picture()
    (harness.root / "plot.png").write_bytes(image)
    (harness.root / "paper.pdf").write_bytes(PDF)
    harness.server.script(
        calls("read", path="plot.png").calls("read", path="paper.pdf"),
        says("Noise, and an empty page."),
        says("Still noise."),
    )

    answer = await harness.ask("Look at both.")
    await harness.ask("Sure?")

    states = [p.state for m in answer.messages for p in m.parts if isinstance(p, ToolPart)]
    kept = [state.attachments[0] for state in states if isinstance(state, ToolCompleted)]
    assert [(file.mime, file.filename) for file in kept] == [
        ("image/png", "plot.png"),
        ("application/pdf", "paper.pdf"),
    ]
    assert kept[0].url.startswith("blob:")
    blob = harness.harness.store.get_blob(kept[0].url.removeprefix("blob:"))
    assert blob == image
    for body in list(harness.server.bodies)[1:]:
        sent = json.dumps(body)
        assert base64.b64encode(image).decode() in sent
        assert base64.b64encode(PDF).decode() in sent
    session = await harness.session()
    drawn = session.picture(kept[0].url)
    assert drawn == f"data:image/png;base64,{base64.b64encode(image).decode()}"
    for wrong in ("blob:" + "0" * 64, kept[1].url, "data:image/png;base64,AAAA", ""):
        with pytest.raises(NotFound):
            session.picture(wrong)
    first = json.dumps(list(harness.server.bodies)[1])
    forms = {
        "openai": ['"type": "image_url"', '"file_data": "data:application/pdf;base64,'],
        "anthropic": ['"media_type": "image/png"', '"media_type": "application/pdf"'],
    }
    for form in forms[harness.id.partition("/")[0]]:
        assert form in first


async def test_a_model_that_cannot_see_is_told_so(harness: HttpSessionHarness) -> None:
    harness.harness.narrow(harness.harness.info(harness.id).model_copy(update={"vision": False}))
    (harness.root / "plot.png").write_bytes(picture())
    harness.server.script(calls("read", path="plot.png"), says("I cannot see it."))

    await harness.ask("Look.")

    sent = json.dumps(list(harness.server.bodies)[-1])
    assert "plot.png (image/png) was left out" in sent
    assert "base64" not in sent
