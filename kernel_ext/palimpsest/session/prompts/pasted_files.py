"""Check a file that the user pasted or dropped into a prompt, store it, and count its tokens.

Border: takes an attachment and returns it in the log's form, on a worker thread. The bytes come from a page, so
neither their name nor their type is trusted: pictures and PDF are recognised by their first bytes, anything else
is a text or refused. Nothing is journaled until the prompt is sent.
"""

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.prompt_files import decoded_data_url
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.store.interface import Store
from palimpsest.tools.calls.images import FittedImage, fit_image, image_type
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment, FilePart
from palimpsest.transcript.values import Value

MAX_FILE_BYTES = 6_000_000
"""Maximum bytes of a file: a page's messages have at most 10 MB, and Base64 is a third longer than the bytes."""
MAX_TEXT_BYTES = 1_000_000
"""Maximum bytes of a text: about 250,000 tokens, more than most windows hold."""
MAX_NAME_CHARS = 120
TEXT_TYPE = "text/plain"
ATTACHED_TEXT = "The user attached {name}:\n{text}"
USE_PROJECT_FILE = (
    "Put it into the project's folder and name it with @, so that the agent reads what it needs."
)
TOO_LARGE = "{name} has {bytes:,} bytes; at most {most:,} can be attached. " + USE_PROJECT_FILE
UNKNOWN_KIND = (
    "{name} is neither a text nor a picture (PNG, JPEG, GIF, WebP) nor a PDF. " + USE_PROJECT_FILE
)
GONE_SENTENCE = "{name} is no longer kept here. Attach it again."


class PastedFile(Value):
    """A file that is sent with the next prompt."""

    attachment: Attachment
    """The file in the log's form: long content is a blob."""
    tokens: int
    """Estimated tokens that it adds to the prompt."""
    unseen: bool = False
    """Whether the model accepts no pictures, so that a note is sent instead."""


def pasted_file(services: Services, file: Attachment, model: str | None) -> PastedFile:
    """Return a file as it is sent; raises UserError for a file that cannot be attached.

    ``model`` is the model that would answer; None where it is not known.
    """
    store = services.store
    name = file_name(file)
    data = _file_bytes(store, file, name)
    if len(data) > MAX_FILE_BYTES:
        raise UserError(TOO_LARGE.format(name=name, bytes=len(data), most=MAX_FILE_BYTES))
    media_type = image_type(data)
    if media_type is None:
        text = services.secrets.clean(_decoded_text(data, name))
        fitted = FittedImage(TEXT_TYPE, text.encode())
        count = services.models.count(services.rules.policy.estimator)
        tokens = count(ATTACHED_TEXT.format(name=name, text=text))
    else:
        is_picture = media_type.startswith("image/")
        fitted = fit_image(data, name) if is_picture else FittedImage(media_type, data)
        tokens = MEDIA_TOKENS
    attachment = Attachment(mime=fitted.mime, filename=name, url=keep_attachment(store, fitted.url))
    is_unseen = media_type is not None and not _takes_pictures(services, model)
    return PastedFile(attachment=attachment, tokens=tokens, unseen=is_unseen)


def attached_text(store: Store, part: FilePart) -> str | None:
    """Return the text that is added to the prompt for a pasted text file; None for any other file."""
    if part.mime != TEXT_TYPE or part.source is not None:
        return None
    name = file_name(part)
    try:
        text = _decoded_text(_file_bytes(store, part, name), name)
    except UserError as problem:
        return f"The user attached {name}, which cannot be read: {problem}"
    return ATTACHED_TEXT.format(name=name, text=text)


def file_name(file: Attachment | FilePart) -> str:
    """Return a file's name in one line, without its folders."""
    name = (file.filename or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return one_line(name, MAX_NAME_CHARS) or "a file"


def _file_bytes(store: Store, file: Attachment | FilePart, name: str) -> bytes:
    try:
        if file.url.startswith("blob:"):
            return store.get_blob(file.url.removeprefix("blob:"))
    except NotFound:
        raise UserError(GONE_SENTENCE.format(name=name)) from None
    # The URL of an empty file has no data, which is valid here.
    return decoded_data_url(file.url) if file.url.partition(",")[2] else b""


def _decoded_text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(UNKNOWN_KIND.format(name=name)) from None
    if "\0" in text:
        raise UserError(UNKNOWN_KIND.format(name=name))
    if not text.strip():
        raise UserError(f"{name} is empty.")
    if len(data) > MAX_TEXT_BYTES:
        raise UserError(TOO_LARGE.format(name=name, bytes=len(data), most=MAX_TEXT_BYTES))
    return text


def _takes_pictures(services: Services, model: str | None) -> bool:
    """Return whether a model accepts pictures; True for an unknown model, which is refused when the prompt is sent."""
    try:
        return model is None or services.models.info(model, None).vision
    except UserError:
        return True
