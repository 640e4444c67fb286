"""An image that the agent read is shown in the panel, also when it is stored as a blob beside the log."""

import os

import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_panel import at_rest, open_scripted_notebook, send, transcript_region

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.soak  # with each commit labextension/tests/views/parts/attachments.test.tsx asks for it and shows it
def test_a_picture_that_was_read_is_shown(page: Page, lab: Lab, seen: PageErrors) -> None:
    gradient = Image.linear_gradient("L").resize((640, 400)).convert("RGB")
    noise = Image.frombytes("RGB", (640, 400), os.urandom(640 * 400 * 3))
    Image.blend(gradient, noise, 0.3).save(lab.folder / "seen.png")
    assert (lab.folder / "seen.png").stat().st_size > 300_000
    panel = open_scripted_notebook(
        page, lab, "panel-picture.ipynb", "calls('read', path='seen.png'), says('A slope.')"
    )

    send(panel, "Look at seen.png.")
    expect(transcript_region(panel).get_by_text("A slope.")).to_be_visible()
    at_rest(panel)
    transcript_region(panel).get_by_role("button", name="seen.png").click()

    picture = transcript_region(panel).get_by_role("img", name="Picture: seen.png")
    expect(picture).to_be_visible()
    page.wait_for_function("node => node.naturalWidth === 640", arg=picture.element_handle())
    photograph(page, "panel-picture")
    assert seen.errors == []
