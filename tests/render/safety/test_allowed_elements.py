"""The front end and Python have the same list of allowed HTML elements."""

import json
from pathlib import Path

import pytest

from palimpsest.render.safety.allowed_elements import (
    ATTRIBUTES,
    LINK_STARTS,
    PICTURE_TYPES,
    TAGS,
    may_lead,
)

FRONT_END = (
    Path(__file__).parents[3] / "labextension" / "src" / "views" / "dom" / "allowedElements.json"
)


def test_is_the_list_of_the_front_end() -> None:
    kept = json.loads(FRONT_END.read_text(encoding="utf-8"))

    assert kept == {
        "tags": sorted(TAGS),
        "attributes": sorted(ATTRIBUTES),
        "links": list(LINK_STARTS),
        "pictures": list(PICTURE_TYPES),
    }


@pytest.mark.parametrize("to", ["https://e.org/a", "HTTP://e.org", "mailto:a@e.org", "#found"])
def test_links_lead_to_the_web_to_mail_and_within_the_page(to: str) -> None:
    assert may_lead(to)


@pytest.mark.parametrize("to", ["data/a.csv", "../b.md", "a%20b.md", "Übersicht.md"])
def test_links_lead_to_files_only_where_a_host_opens_them(to: str) -> None:
    assert not may_lead(to)
    assert may_lead(to, allows_local=True)


@pytest.mark.parametrize(
    "to",
    [
        "", "/logout", "//e.org", "\\\\e.org", "%2e%2e/logout", "a/%2E%2e/x", "file:///etc/passwd",
        "javascript:x", "data:text/html,x", "a\\b", "?reset", "blob:x", "<http://e.org>",
    ],
)  # fmt: skip
def test_no_other_link_leads_anywhere(to: str) -> None:
    assert not may_lead(to, allows_local=True)
