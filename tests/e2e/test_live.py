"""A cell's answer while it is being written, in a real JupyterLab."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.lab import Lab, Seen, photograph
from tests.e2e.live import begin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_words_are_seen_before_the_turn_ends(page: Page, lab: Lab, seen: Seen) -> None:
    notebook = begin(
        page,
        lab,
        "streams",
        "room.script(says('First **this**.\\n\\nThen').stalls())",
        "%%agent\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    shown = notebook.cell(2).locator(".plm-Segment")

    expect(shown.locator("strong", has_text="this")).to_be_visible()
    expect(shown.locator(".plm-Foot")).to_be_visible()
    photograph(page, "live-streams")
    shown.get_by_role("button", name="Stop").click()
    notebook.ended()
    expect(shown.locator(".plm-Foot")).to_have_count(0)
    assert seen.errors == []


@pytest.mark.parametrize("way", ["mouse", "keys"])
@pytest.mark.parametrize(
    "magic", ["%%agent\nGo.", "%%time\n%agent Go."], ids=["awaiting", "blocking"]
)
def test_a_question_is_answered_in_its_card(
    page: Page, lab: Lab, seen: Seen, way: str, magic: str
) -> None:
    notebook = begin(
        page,
        lab,
        f"asks-{way}-{len(magic)}",
        "room.script(calls('python', code='x = 6 * 7\\nx').says('I compute.'), says('It is 42.'))",
        magic,
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    card = notebook.cell(2).locator(".plm-Question")
    expect(card).to_be_visible()
    page.wait_for_timeout(600)
    photograph(page, f"live-asks-{way}")
    if way == "mouse":
        card.get_by_role("button", name="Allow once").click()
    else:
        page.keyboard.press("Escape")
        page.keyboard.press("1")
    notebook.ended()

    expect(notebook.cell(2).get_by_text("It is 42.")).to_be_visible()
    expect(notebook.cell(2).get_by_text("allowed once")).to_be_visible()
    assert page.locator("input.jp-Stdin-input").count() == 0
    photograph(page, f"live-answered-{way}")
    assert seen.errors == []
