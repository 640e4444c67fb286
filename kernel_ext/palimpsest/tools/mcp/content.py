"""Convert the results of MCP servers to tool outcomes, and quote servers' instructions.

Border: pure. All content is untrusted: an image must be a valid one, and content that cannot be sent to a
model is replaced by a note in brackets.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from palimpsest.tools.calls.images import SIGNATURES, FittedImage, fit_image
from palimpsest.tools.mcp.values import McpContent, RemoteResult, sanitize
from palimpsest.tools.tool import ToolOutcome
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Attachment, ResourceSource

MAX_BLOB_BYTES = 10_000_000
"""Maximum bytes of one file in a result; a larger one is left out with a note."""
MAX_TEXT_CHARS = 5_000_000
"""Maximum characters of one result; the middle of a longer one is removed."""
MAX_ERROR_CHARS = 10_000
MAX_INSTRUCTION_CHARS = 8_000
"""Maximum characters of one server's instructions, which are part of every request."""
MAX_STRUCTURED_CHARS = 10_000
"""Maximum characters of a structured result in a call's metadata; a longer one is only in the output."""

_TAG = re.compile(r"<(?=/?\s*(?:server|mcp_instructions)\b)", re.IGNORECASE)
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def call_outcome(title: str, result: RemoteResult, scrub: Callable[[str], str]) -> ToolOutcome:
    """Return the outcome of a call's result; raises UserError if the server reports a failure."""
    texts, attachments = _texts_and_attachments(result.contents)
    structured_text = _structured_json(result)
    if structured_text and not any(content.kind == "text" for content in result.contents):
        texts.insert(0, structured_text)
    text = scrub(_shortened_text("\n\n".join(text for text in texts if text), MAX_TEXT_CHARS))
    if result.is_error:
        raise UserError(
            _shortened_text(text, MAX_ERROR_CHARS) or "The tool failed and said nothing."
        )
    if not text:
        text = "(The files are attached.)" if attachments else "(The tool returned nothing.)"
    is_small = structured_text and len(structured_text) <= MAX_STRUCTURED_CHARS
    metadata = {"structured": scrub(structured_text)} if is_small else {}
    return ToolOutcome(title, text, metadata, tuple(attachments))


def resource_outcome(
    server: str, uri: str, contents: Sequence[McpContent], scrub: Callable[[str], str]
) -> ToolOutcome:
    """Return the outcome of reading a resource; its attachments have the resource as source."""
    result = call_outcome(uri, RemoteResult(tuple(contents)), scrub)
    source = ResourceSource(type="resource", client_name=server, uri=scrub(uri))
    attachments = (
        attachment.model_copy(update={"source": source}) for attachment in result.attachments
    )
    return replace(result, attachments=tuple(attachments))


def instructions_text(instructions: Sequence[tuple[str, str]]) -> str:
    """Return the servers' instructions in tags that they cannot forge; empty if there are none."""
    blocks = "\n".join(
        f'<server name="{sanitize(name)}">\n{_quoted_instructions(text)}\n</server>'
        for name, text in instructions
        if text.strip()
    )
    return f"<mcp_instructions>\n{blocks}\n</mcp_instructions>" if blocks else ""


def servers_in(text: str) -> frozenset[str]:
    """Return the names of the servers whose instructions are in a text of ``instructions_text``."""
    return frozenset(re.findall(r'^<server name="([A-Za-z0-9_-]+)">$', text, re.MULTILINE))


def _quoted_instructions(text: str) -> str:
    return _shortened_text(
        _TAG.sub("&lt;", _CONTROL_CHARACTERS.sub(" ", text)).strip(), MAX_INSTRUCTION_CHARS
    )


def _texts_and_attachments(contents: Sequence[McpContent]) -> tuple[list[str], list[Attachment]]:
    texts: list[str] = []
    attachments: list[Attachment] = []
    for content in contents:
        if content.kind != "blob":
            texts.append(content.text)
            continue
        try:
            file = _attached_file(content)
        except UserError as problem:
            sentence = str(problem).rstrip(".")
            texts.append(f"[{content.name or 'A file'} ({content.mime}) was left out: {sentence}.]")
        else:
            name = content.name or None
            attachments.append(Attachment(mime=file.mime, filename=name, url=file.url))
    return texts, attachments


def _attached_file(content: McpContent) -> FittedImage:
    """Return a file that can be attached; raises UserError for others."""
    if content.mime not in SIGNATURES:
        raise UserError("no model can read this kind of file")
    if len(content.data) * 3 // 4 > MAX_BLOB_BYTES:
        raise UserError(f"it is larger than {MAX_BLOB_BYTES // 1_000_000} MB")
    try:
        data = base64.b64decode(content.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError("it is not valid base64") from error
    if not SIGNATURES[content.mime](data):
        raise UserError("it is not what it is said to be")
    is_image = content.mime.startswith("image/")
    return fit_image(data, "it") if is_image else FittedImage(content.mime, data)


def _structured_json(result: RemoteResult) -> str:
    if result.structured_content is None:
        return ""
    try:
        return json.dumps(result.structured_content, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""


def _shortened_text(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    edge_chars = max_chars // 2
    left_out = len(text) - 2 * edge_chars
    return f"{text[:edge_chars]}\n[... {left_out:,} characters left out ...]\n{text[-edge_chars:]}"
