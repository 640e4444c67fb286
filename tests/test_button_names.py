"""A test in a browser finds a button by its exact name where other buttons of a turn contain that name."""

import re

from tests.e2e.jupyterlab import ROOT

CONTAINED = (
    "Archive",
    "Close",
    "Compare",
    "Copy",
    "Delete",
    "Edit",
    "Fork",
    "Inspect",
    "Reject",
    "Restore",
    "Retry",
    "Revert",
    "Send",
    "Stop",
)
"""Names of buttons that are in the names of others: ``Send`` in "Edit and resend", ``Copy`` in "Copy the code"."""
INEXACT = re.compile(
    rf"""get_by_role\(\s*"button",\s*name="(?:{"|".join(CONTAINED)})",?\s*\)(?!\)\.to_have_count\(0\))""",
    re.IGNORECASE,
)
"""A locator by part of a name. That no button at all has it in its name may be asserted."""


def test_such_a_button_is_found_by_its_exact_name() -> None:
    inexact = [
        f"{path.name}: {match.group()}"
        for path in sorted((ROOT / "tests" / "e2e").glob("*.py"))
        for match in INEXACT.finditer(path.read_text(encoding="utf-8"))
    ]

    assert inexact == [], "add exact=True"


def test_a_part_of_a_name_is_told_from_the_whole() -> None:
    assert INEXACT.search('panel.get_by_role("button", name="Send").click()')
    assert not INEXACT.search('panel.get_by_role("button", name="Send", exact=True).click()')
    assert not INEXACT.search('expect(panel.get_by_role("button", name="Send")).to_have_count(0)')
