"""A page attaches what was pasted or dropped: it is checked, kept and counted here before a prompt takes it along."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.frontends.page_channel.test_mentions import outcome
from tests.harness.kernel import Kernel

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS

pytestmark = pytest.mark.slow

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TABLE = "name\tmass\nrobin\t20\nowl\t300\n"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("project")
    with Kernel(cwd=folder, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("%agent sessions")  # waits until all is loaded
        kernel.request(type="hello", protocol=4, client="page")
        kernel.request(type="watch", client="page")
        yield kernel


def data_url(content: bytes, mime: str = "text/plain") -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def attach(kernel: Kernel, identifier: str, name: str, url: str) -> dict[str, Any]:
    file = {"mime": "application/x-claimed", "filename": name, "url": url}
    return outcome(kernel, identifier, type="attach", file=file)


def test_a_text_is_counted_and_told_to_the_model(kernel: Kernel) -> None:
    attachment = attach(kernel, "text", "../../etc/t.tsv", data_url(TABLE.encode()))

    assert attachment["attachment"]["filename"] == "t.tsv"
    assert attachment["attachment"]["mime"] == "text/plain"
    assert attachment["attachment"].get("source") is None
    assert 5 < attachment["tokens"] < 40
    again = outcome(kernel, "again", type="attach", file=attachment["attachment"])
    assert again["tokens"] == attachment["tokens"]

    mark = len(kernel.iopub)
    outcome(
        kernel,
        "asks",
        type="prompt",
        text="Which is heavier?",
        files=[attachment["attachment"]],
        model="rehearsal/rules",
    )
    told = str([m["content"].get("records") for m in kernel.iopub[mark:]])
    assert "The user attached t.tsv:\\nname\\tmass\\nrobin" in told


def test_a_picture_is_one_by_its_bytes_and_named_only_to_a_model_without_pictures(
    kernel: Kernel,
) -> None:
    url = data_url(base64.b64decode(PIXEL), "text/html")
    attachment = attach(kernel, "picture", "shot\u202egnp.\nexe", url)
    unseen = outcome(
        kernel, "unseen", type="attach", file=attachment["attachment"], model="rehearsal/rules"
    )

    assert attachment["attachment"]["mime"] == "image/png"
    assert "\n" not in attachment["attachment"]["filename"]
    assert attachment["tokens"] == MEDIA_TOKENS
    assert attachment["unseen"] is False
    assert unseen["unseen"] is True


def test_a_large_file_is_kept_as_a_blob(kernel: Kernel) -> None:
    attachment = attach(kernel, "large", "rows.csv", data_url(b"a,b\n" * 100_000))

    assert attachment["attachment"]["url"].startswith("blob:")
    assert attachment["tokens"] > 10_000
    assert "user" not in attachment["attachment"]["url"]


@pytest.mark.parametrize(
    ("name", "url", "sentence"),
    [
        ("a.bin", data_url(b"\xff\xfe\x00\x01"), "a.bin is neither a text nor a picture"),
        ("nul.txt", data_url(b"a\0b"), "nul.txt is neither a text nor a picture"),
        ("none.txt", "data:text/plain;base64,", "none.txt is empty."),
        (
            "long.txt",
            data_url(b"word " * 300_000),
            "long.txt has 1,500,000 bytes; at most 1,000,000",
        ),
        ("old.csv", f"blob:{'0' * 64}", "old.csv is no longer kept here. Attach it again."),
        (
            "cut.png",
            data_url(base64.b64decode(PIXEL)[:20]),
            "cut.png cannot be opened as a picture",
        ),
    ],
)
def test_what_cannot_be_attached_is_refused_in_a_sentence(
    kernel: Kernel, name: str, url: str, sentence: str
) -> None:
    refused = attach(kernel, f"refused-{name}", name, url)

    assert sentence in refused["error"]


@pytest.mark.parametrize("url", ["https://example.org/far.csv", "file:///etc/passwd"])
def test_only_content_is_attached(kernel: Kernel, url: str) -> None:
    file = {"mime": "text/plain", "url": url}
    refused = kernel.request(type="attach", file=file)

    assert "A file goes along by its content (data:)" in refused["error"]


def test_a_key_in_a_pasted_text_does_not_reach_the_log(tmp_path: Path) -> None:
    key = "sk-ant-" + "k" * 40
    with Kernel(cwd=tmp_path, env={"ANTHROPIC_API_KEY": key}) as kernel:
        kernel.run("%load_ext palimpsest")
        kernel.run("%agent sessions")
        kernel.request(type="watch", client="page")
        attachment = attach(kernel, "key", "env.txt", data_url(f"KEY={key}\n".encode() * 5_000))

        assert attachment["attachment"]["url"].startswith("blob:")
        kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        assert not any(key.encode() in content for content in kept)
