"""What a disk refuses is said in words of a person, wherever something of ours is written."""

import errno
import os
from pathlib import Path

import pytest

from palimpsest.session.sharing import exports
from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.strings.disk_words import disk_reason

NAMED = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "The disk quota is used up",
    errno.EROFS: "The disk is read-only",
    errno.EACCES: "The folder may not be written",
    errno.EIO: "The disk is failing",
    errno.ENAMETOOLONG: "The name is too long",
    errno.EMFILE: "Too many files are open in this kernel",
    errno.ENFILE: "Too many files are open on this machine",
}


@pytest.mark.parametrize(("number", "words"), NAMED.items())
def test_each_reason_is_a_sentence(number: int, words: str) -> None:
    assert disk_reason(OSError(number, os.strerror(number))) == words


@pytest.mark.parametrize(("number", "words"), NAMED.items())
def test_an_export_says_it_and_the_session_goes_on(
    number: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with isolated_session(ScriptedModel(says("One."), says("Two."))) as session:
        session.prompt("First")
        with monkeypatch.context() as broken:
            broken.setattr(exports, "_write", refuses)
            with pytest.raises(StorageFailed, match=words):
                session.export("json")

        assert session.prompt("Second").text == "Two."
        assert Path(session.export("json")).is_file()
