"""Check a file that a person pasted or dropped into a prompt, keep it, and count its tokens.

Border: an attachment in, the same one as the log keeps it out, on a worker thread. The bytes come from a page, so
neither their name nor their type is believed: pictures and PDF are recognised by their first bytes, anything else
is a text or refused. Nothing is journaled until the prompt is sent.
"""

from palimpsest.context.budget.request_tokens import MEDIA_TOKENS, Count
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.prompt_files import decoded_data_url
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.store.interface import Store
from palimpsest.tools.calls.images import FittedImage, fit_image, kind_of
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment, FilePart
from palimpsest.transcript.values import Value

LARGEST_BYTES = 6_000_000
"""A page's messages are at most 10 MB, and Base64 is a third longer than the bytes."""
LARGEST_TEXT_BYTES = 1_000_000
"""About 250,000 tokens: more than most windows hold."""
LONGEST_NAME = 120
TEXT = "text/plain"
ATTACHED_TEXT = "The user attached {name}:\n{text}"
PROJECT = (
    "Put it into the project's folder and name it with @, so that the agent reads what it needs."
)
TOO_LARGE = "{name} has {bytes:,} bytes; at most {most:,} can be attached. " + PROJECT
NO_KIND = "{name} is neither a text nor a picture (PNG, JPEG, GIF, WebP) nor a PDF. " + PROJECT
GONE = "{name} is no longer kept here. Attach it again."


class PastedFile(Value):
    """A file that goes along with the next prompt."""

    attachment: Attachment
    """As the log keeps it: long content is a blob."""
    tokens: int
    """What it adds to the prompt, an estimate."""
    unseen: bool = False
    """The model takes no pictures: it is told that there is one, and not shown it."""


def pasted_file(services: Services, given: Attachment, model: str | None) -> PastedFile:
    """Return a file as it goes along; raises UserError for what cannot be attached.

    ``model`` would answer; None where it is not known.
    """
    store = services.store
    name = file_name(given)
    data = _content(store, given, name)
    if len(data) > LARGEST_BYTES:
        raise UserError(TOO_LARGE.format(name=name, bytes=len(data), most=LARGEST_BYTES))
    kind = kind_of(data)
    if kind is None:
        text = services.secrets.clean(_text(data, name))
        made = FittedImage(TEXT, text.encode())
        tokens = _counted(services)(ATTACHED_TEXT.format(name=name, text=text))
    else:
        made = fit_image(data, name) if kind.startswith("image/") else FittedImage(kind, data)
        tokens = MEDIA_TOKENS
    kept = Attachment(mime=made.mime, filename=name, url=keep_attachment(store, made.url))
    unseen = kind is not None and not _sees(services, model)
    return PastedFile(attachment=kept, tokens=tokens, unseen=unseen)


def attached_text(store: Store, part: FilePart) -> str | None:
    """Return what the model is told of a text that goes along with a prompt; None for any other file."""
    if part.mime != TEXT or part.source is not None:
        return None
    name = file_name(part)
    try:
        text = _text(_content(store, part, name), name)
    except UserError as problem:
        return f"The user attached {name}, which cannot be read: {problem}"
    return ATTACHED_TEXT.format(name=name, text=text)


def file_name(given: Attachment | FilePart) -> str:
    """Return a file's name in one line, without its folders."""
    name = (given.filename or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return one_line(name, LONGEST_NAME) or "a file"


def _content(store: Store, given: Attachment | FilePart, name: str) -> bytes:
    try:
        if given.url.startswith("blob:"):
            return store.get_blob(given.url.removeprefix("blob:"))
    except NotFound:
        raise UserError(GONE.format(name=name)) from None
    # An empty file has no data, which is no mistake of its sender.
    return decoded_data_url(given.url) if given.url.partition(",")[2] else b""


def _text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(NO_KIND.format(name=name)) from None
    if "\0" in text:
        raise UserError(NO_KIND.format(name=name))
    if not text.strip():
        raise UserError(f"{name} is empty.")
    if len(data) > LARGEST_TEXT_BYTES:
        raise UserError(TOO_LARGE.format(name=name, bytes=len(data), most=LARGEST_TEXT_BYTES))
    return text


def _sees(services: Services, model: str | None) -> bool:
    """Return whether a model takes pictures; one that is not known is taken to, until the prompt is sent."""
    try:
        return model is None or services.models.info(model, None).vision
    except UserError:
        return True


def _counted(services: Services) -> Count:
    return services.models.count(services.rules.policy.estimator)
