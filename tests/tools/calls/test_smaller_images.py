"""A picture is made smaller for a request in the form that suits it, or not at all."""

import io

from PIL import Image

from palimpsest.tools.calls.images import smaller_image


def test_a_photo_that_is_made_smaller_stays_one() -> None:
    out = io.BytesIO()
    Image.effect_noise((1_400, 800), 60).convert("RGB").save(out, "JPEG")

    made = smaller_image(out.getvalue(), 950)

    assert made is not None
    mime, small, size = made
    assert (mime, size) == ("image/jpeg", (950, 543))
    assert len(small) < len(out.getvalue())


def test_a_figure_that_is_made_smaller_stays_without_loss() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (1_400, 800), (9, 80, 90, 120)).save(out, "PNG")

    made = smaller_image(out.getvalue(), 950)

    assert made is not None
    assert (made[0], made[2]) == ("image/png", (950, 543))


def test_what_is_no_picture_is_not_made_smaller() -> None:
    assert smaller_image(b"\x89PNG\r\n\x1a\nno more", 100) is None
