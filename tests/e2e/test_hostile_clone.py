"""An untrusted folder in JupyterLab: nothing runs, every call asks, and one notice lists what awaits trust."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, open_notebook, photograph, running
from tests.e2e.test_panel import RUN, at_rest, open_panel, send, transcript_region
from tests.hostile.clone import (
    AWS,
    DOTENV,
    ENVIRONMENT_KEY,
    NOTEBOOK,
    OUTSIDE,
    PROMPT_CANARY,
    HostileClone,
    environment,
    write_hostile_clone,
)
from tests.hostile.exfiltration_server import ExfiltrationServer, exfiltrating_model

from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def exfiltration_server() -> Iterator[ExfiltrationServer]:
    server = ExfiltrationServer()
    yield server
    server.close()


@pytest.fixture
def planted(tmp_path: Path, exfiltration_server: ExfiltrationServer) -> HostileClone:
    return write_hostile_clone(
        tmp_path / "lab" / "work" / "clone",
        tmp_path / "home",
        tmp_path / "marks",
        exfiltration_server.url,
    )


@pytest.fixture
def server(planted: HostileClone) -> Iterator[FaultServer]:
    with exfiltrating_model(planted) as server:
        yield server


@pytest.fixture
def clone_lab(
    planted: HostileClone,
    server: FaultServer,  # noqa: ARG001  its address stands in the person's settings
    tmp_path: Path,
    front_end: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Lab]:
    """JupyterLab, started with the user's home folder, whose kernels are started as a person's are."""
    for name, value in environment(planted.home).items():
        monkeypatch.setenv(name, value)
    with running(tmp_path / "lab", front_end, lean=True) as lab:
        yield lab


@pytest.mark.soak  # with each commit tests/hostile/test_clone.py opens one in a kernel, where every call asks; this adds the page
def test_opening_it_runs_nothing_and_every_call_asks(
    page: Page,
    clone_lab: Lab,
    planted: HostileClone,
    server: FaultServer,
    exfiltration_server: ExfiltrationServer,
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_notebook(page, clone_lab, f"clone/{NOTEBOOK}")
    assert planted.ran() == []
    page.evaluate(READY)
    for mark in planted.marks.iterdir():  # created by Python while it started the kernel
        mark.unlink()
    page.evaluate(RUN, 0)
    panel = open_panel(page)
    expect(panel.get_by_role("textbox").first).to_be_visible()
    photograph(page, "hostile-clone-opened")

    send(panel, "Please try:bash. now")
    refuse = panel.get_by_role("button", name="Reject…").first
    expect(refuse).to_be_visible()
    photograph(page, "hostile-clone-asks")
    assert planted.ran() == []
    refuse.click()
    panel.get_by_role("textbox", name="What should it do instead?").press("Enter")
    at_rest(panel)
    send(panel, "Please try:nested. now")
    expect(transcript_region(panel).get_by_text("Well.").last).to_be_visible()
    photograph(page, "hostile-clone-answered")

    assert planted.ran() == []
    assert exfiltration_server.heard == []
    assert not [url for url in asked if exfiltration_server.url in url]
    assert "ran" not in page.title().split()
    words = "\n".join(str(request.body) for request in server.requests)
    for canary in (AWS, OUTSIDE, ENVIRONMENT_KEY, DOTENV, PROMPT_CANARY):
        assert canary not in words, canary
    expect(panel.get_by_text("trust").first).to_be_visible()
