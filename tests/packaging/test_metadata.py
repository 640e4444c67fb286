"""What an index shows of a release: addresses, and a README whose pictures and pages are found."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ADDRESS = "https://git.example/birds/palimpsest"


def metadata(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def published(**environment: str) -> dict[str, Any]:
    done = metadata(**environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_a_release_names_its_addresses_and_its_readme_shows_its_pictures() -> None:
    found = published(PALIMPSEST_REPOSITORY=f"{ADDRESS}/")

    tag = f"v{found['version']}"
    assert found["urls"] == {
        "Source": ADDRESS,
        "Documentation": f"{ADDRESS}/blob/{tag}/docs/index.md",
        "Changelog": f"{ADDRESS}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{ADDRESS}/issues",
    }
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", found["readme"]["text"])
    assert {
        ("!", f"{ADDRESS}/raw/{tag}/docs/images/{name}.png") for name in ("first-light", "context")
    } <= {*links}
    for picture, link in links:
        start = f"{ADDRESS}/{'raw' if picture else 'blob'}/{tag}/"
        assert link.startswith(start)
        assert (ROOT / link.removeprefix(start)).exists()


@pytest.mark.slow
def test_a_build_that_knows_no_address_has_none() -> None:
    found = published(PALIMPSEST_REPOSITORY="")

    assert "urls" not in found
    assert found["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_address_that_is_none_is_refused_with_a_sentence() -> None:
    done = metadata(PALIMPSEST_REPOSITORY="birds/palimpsest")

    assert done.returncode == 1
    assert "must begin with https://" in done.stderr
