"""Take docs/images/first-light.png: a question of the demo and its answer.

Needs what ``make demo`` wrote, and a Chromium (named in CHROMIUM, or found on the path).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from demo import BUILD, NAME, ROOT, page
from PIL import Image, ImageChops

PICTURE = ROOT / "docs" / "images" / "first-light.png"
CELLS = ("scatter",)
WIDTH, HEIGHT, MARGIN = 940, 4000, 16


def chromium() -> str:
    """Return the browser's program, or say that it is missing."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        sys.exit("No Chromium was found. Install one, or name it in CHROMIUM.")
    return found


def screenshot(source: Path, target: Path) -> None:
    """Take a picture of a page as it stands."""
    subprocess.run(
        [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={target}",
            source.as_uri(),
        ],
        check=True,
        capture_output=True,
    )


def cropped(picture: Image.Image) -> Image.Image:
    """Cut the empty margins off."""
    flat = picture.convert("RGB")
    empty = Image.new("RGB", flat.size, flat.getpixel((0, flat.height - 1)))
    box = ImageChops.difference(flat, empty).getbbox()
    if box is None:
        sys.exit("The page is empty; run make demo first.")
    left, top, right, bottom = box
    return flat.crop(
        (
            max(0, left - MARGIN),
            max(0, top - MARGIN),
            min(flat.width, right + MARGIN),
            min(flat.height, bottom + MARGIN),
        )
    )


def main() -> None:
    """Choose the cells, take the picture, crop it."""
    notebook = nbformat.read(BUILD / f"{NAME}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    notebook.cells = [cell for cell in notebook.cells if cell.id in CELLS]
    with tempfile.TemporaryDirectory() as folder:
        source, taken = Path(folder, "page.html"), Path(folder, "page.png")
        source.write_text(page(notebook), encoding="utf-8")
        screenshot(source, taken)
        with Image.open(taken) as picture:
            PICTURE.parent.mkdir(parents=True, exist_ok=True)
            cropped(picture).quantize(128).save(PICTURE, optimize=True)
    print(f"Written: {PICTURE.relative_to(ROOT)} ({PICTURE.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
