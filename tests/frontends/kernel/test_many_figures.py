"""A kernel that draws more large figures than a provider takes in one request goes on working."""

from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.provider_rules.picture_limits import anthropic, sides

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

MODEL = "anthropic/claude-sonnet-4-5"

DRAW = """
import io
from IPython.display import Image as Shown, display
from PIL import Image
for number in range({count}):
    out = io.BytesIO()
    Image.new("L", (2800, 400), number * 9).save(out, "PNG", compress_level=1)
    display(Shown(out.getvalue()))
"""
"""Figures as wide as those of 14 by 8 inches with 200 dots an inch, without the time that a plot, colours or their height take."""


@pytest.mark.soak  # with each commit tests/loop/test_picture_limits_http.py has a limit of pictures; this adds a kernel that draws them
@pytest.mark.slow
def test_twenty_five_large_figures_do_not_end_the_session(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    folder = home / ".config" / "palimpsest"
    folder.mkdir(parents=True)
    project.mkdir()
    with FaultServer(check=anthropic) as server:
        (folder / "config.toml").write_text(
            f'model = "{MODEL}"\ntitles = false\npermission = "allow"\n'
            f'[models."{MODEL}"]\napi_base = "{server.anthropic_base}"\n'
        )
        env = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "PALIMPSEST_STATE_DIR": str(home / "state"),
        }
        with Kernel(cwd=project, env=env) as kernel:
            kernel.run("%load_ext palimpsest")
            for count in (8, 8, 8, 1):
                server.script(calls("python", code=DRAW.format(count=count)), says("Drawn."))
                kernel.run("%agent draw the next figures, please")
            server.script(says("Still here."))
            answer = kernel.run("%agent what do you see in them?").markdown()
            context = kernel.run("%agent context").markdown()

    assert "Still here." in answer
    sent = [sides(body) for body in server.bodies]
    assert [len(figure) for figure in sent] == [0, 8, 8, 16, 16, 24, 24, 25, 25]
    assert set(sent[3]) == {2_800}
    assert set(sent[-1]) == {1_900}
    assert "8 pictures are sent smaller (2,800 x 400 pixels became 1,900 x 271)" in context
