"""Images and documents that a Python prompt attaches are sent with it, and stored."""

import base64
import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import FileSource, ResourceSource

pytestmark = pytest.mark.slow

VISION = {"models": {"scripted/model": {"vision": True, "window": 200_000}}}


def png(side: int = 2) -> bytes:
    """Return an image of so many pixels a side, which does not compress."""
    row = b"".join(bytes((at * 7 % 251, at * 13 % 241, at * 17 % 239)) for at in range(side))
    raw = b"".join(b"\0" + row for _ in range(side))

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    whole = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 0)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + whole


class Figure:
    """A fake of matplotlib's figures, which saves itself."""

    def savefig(self, out: Any, **_: Any) -> None:
        out.write(png(3))


class Axes:
    """A fake of matplotlib's axes, with a figure."""

    figure = Figure()


class Picture:
    """A fake of Pillow's images, which saves itself."""

    def _repr_png_(self) -> bytes:
        return png(4)


def sent(model: ScriptedModel, at: int = -1) -> list[bytes]:
    """Return the images and documents of a request."""
    blocks = [
        block
        for message in model.requests[at].messages
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    urls = [
        block["image_url"]["url"] if block["type"] == "image_url" else block["file"]["file_data"]
        for block in blocks
        if block["type"] != "text"
    ]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def test_each_kind_is_sent_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    path.write_bytes(png(5))
    url = "data:image/png;base64," + base64.b64encode(png(6)).decode()
    given = [png(2), Figure(), Axes(), Picture(), path, str(path), url, bytearray(png(7))]
    model = ScriptedModel(says("Nice."), says("Still nice."))

    with isolated_session(model, settings=VISION) as session:
        session.prompt("What is this?", files=given)
        session.prompt("And now?")
        (parts, *_) = (m.parts for m in session.messages if m.info.role == "user")
        assert session.rebuild(session.requests()[0]).matches

    expected = [png(side) for side in (2, 3, 3, 4, 5, 5, 6, 7)]
    assert sent(model, 0) == sent(model, 1) == expected
    assert [part.type for part in parts][:9] == ["text"] + ["file"] * 8
    assert parts[5].filename == "map.png"
    sources = [part.source for part in parts[1:9]]
    objects = ["bytes", "Figure", "Axes", "Picture"]
    kernel = {"type": "resource", "client_name": "kernel"}
    assert sources[:4] == [ResourceSource(**kernel, uri=f"object:{name}") for name in objects]
    assert sources[4:7] == [FileSource(type="file", path=str(path))] * 2 + [None]
    assert sources[7] == ResourceSource(**kernel, uri="object:bytearray")


def test_a_file_says_which_variable_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Figure()
    monkeypatch.setattr(sys.modules["__main__"], "drawn", drawn, raising=False)

    with isolated_session(ScriptedModel(says("Nice.")), settings=VISION) as session:
        session.prompt("What is this?", files=[drawn])
        _, file, *_ = session.messages[0].parts

    assert file.source.uri == "variable:drawn"


def test_a_long_file_lies_beside_the_log(tmp_path: Path) -> None:
    model = ScriptedModel(says("Nice."), says("Still nice."))
    big = png(300)

    with isolated_session(model, folder=tmp_path, settings=VISION) as session:
        session.prompt("What is this?", files=[big])
    logs = list((tmp_path / ".palimpsest" / "sessions").glob("*/*.jsonl"))
    assert sum(len(log.read_bytes()) for log in logs) < len(big) / 2
    assert sent(model) == [big], str(model.requests[-1].messages[-1])[:600]


@pytest.mark.parametrize("side", [20, 300])
def test_a_picture_that_a_prompt_names_is_sent_however_long(tmp_path: Path, side: int) -> None:
    (tmp_path / "photo.png").write_bytes(png(side))
    model = ScriptedModel(says("Nice."), says("Still nice."))

    with isolated_session(model, folder=tmp_path, settings=VISION) as session:
        session.prompt("What is on @photo.png?")
        session.prompt("And now?")
        assert all(session.rebuild(request).matches for request in session.requests())

    assert sent(model, 0) == sent(model, 1) == [png(side)]


@pytest.mark.parametrize("none", [None, [], ()])
def test_no_files_are_no_mistake(none: Any) -> None:
    model = ScriptedModel(says("Good."))
    with isolated_session(model, settings=VISION) as session:
        assert session.prompt("Look.", files=none).text == "Good."

    assert sent(model) == []


def test_a_picture_weighs_as_a_picture_and_not_as_its_letters() -> None:
    model = ScriptedModel(says("Nice."))
    with isolated_session(model, settings=VISION) as session:
        session.prompt("What is this?", files=[png(300)])
        (request,) = session.requests()

    assert request.kinds["user"] < 10_000


REFUSED: list[tuple[Any, str]] = [
    ("scan.pdf", "files is a list, such as"),
    ([7], "not a int"),
    ([b"just words"], "is no PNG, JPEG, GIF, WebP or PDF"),
    (["no/such/file.png"], "cannot be read: No such file or directory."),
    (["data:image/png,xyz"], "is no data: URL in base64."),
    ([png()[:40]], "it is damaged, or only a part of one"),
    ([png()] * 21, "At most 20 files"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_is_no_file_is_refused_before_anything_is_kept(given: Any, words: str) -> None:
    with isolated_session(ScriptedModel(), settings=VISION) as session:
        with pytest.raises(UserError) as refused:
            session.prompt("Look.", files=given)

        assert words in str(refused.value)
        assert session.messages == ()


def test_what_a_planted_log_names_is_not_fetched(tmp_path: Path) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    with isolated_session(model, folder=tmp_path, settings=VISION) as session:
        session.prompt("Hello.")
    (log,) = (tmp_path / ".palimpsest" / "sessions").glob("*/*.jsonl")
    last = json.loads(log.read_text("utf-8").splitlines()[-1])
    options = {
        "files": [
            {"mime": "image/png", "url": "file:///etc/passwd"},
            {"mime": "image/png", "url": "http://127.0.0.1:9/x"},
            {"mime": 7},
            "x",
        ]
    }
    planted = {
        "v": 1, "seq": last["seq"] + 1, "ts": last["ts"], "type": "prompt.admitted", "prompt_id": "pmt_x",
        "text": "Look.", "delivery": "queue", "options": options,
    }  # fmt: skip
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(planted) + "\n")
    with isolated_session(model, folder=tmp_path, settings=VISION) as session:
        session.prompt("Again.")

    assert [sent(model, at) for at in range(len(model.requests))] == [[]] * len(model.requests)
