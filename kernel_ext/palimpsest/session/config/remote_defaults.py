"""Fetch an organisation's default settings from a URL within 5 seconds, and cache them.

Border: fetches and caches a text; ``setting_files`` parses it. The URL comes from the
organisation's own file, never from a user's or a project's.
"""

import hashlib
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MAX_FETCH_SECONDS = 5.0
"""Timeout: a starting kernel waits no longer."""
MAX_CACHE_AGE_SECONDS = 3_600.0
"""Seconds for which a cached text is not fetched again."""
MAX_TEXT_BYTES = 1_000_000
"""Maximum bytes of the text; a larger one is refused."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(slots=True)
class RemoteConfig:
    """The text fetched from a URL, or its cached version."""

    text: str | None = None
    problem: str = ""
    """One sentence, where it could not be fetched now; else empty."""


def fetch_text(url: str, cache: Path | None, *, seconds: float = MAX_FETCH_SECONDS) -> RemoteConfig:
    """Return the text at a URL: cached if fresh, else fetched, else the older cached text."""
    if problem := _address_problem(url):
        return RemoteConfig(problem=problem)
    cache_name = f"{hashlib.sha256(url.encode()).hexdigest()}.txt"
    cache_file = cache / cache_name if cache is not None else None
    if cache_file is not None and _age_seconds(cache_file) < MAX_CACHE_AGE_SECONDS:
        return RemoteConfig(_cached_text(cache_file))
    download: Future[bytes] = Future()
    threading.Thread(target=_download, args=(url, seconds, download), daemon=True).start()
    try:
        text = download.result(seconds).decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = "it is no text"
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        problem = " ".join(str(reason).split())
        if isinstance(reason, TimeoutError):
            problem = f"no answer in {seconds:g} seconds"
    else:
        _store_text(cache_file, text)
        return RemoteConfig(text)
    older_text = _cached_text(cache_file) if cache_file is not None else None
    consequence = (
        "what was fetched before holds" if older_text is not None else "nothing of it is used"
    )
    return RemoteConfig(older_text, f"{url} could not be fetched ({problem}); {consequence}.")


def _address_problem(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{url!r} is no address of a file of settings."
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS):
        return ""
    return f"{url!r} must begin with https://, so that nobody can change it on the way."


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects only to URLs that would be accepted themselves, and never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        problem = _address_problem(newurl)
        if not problem and req.type == "https" and urlsplit(newurl).scheme != "https":
            problem = f"{newurl!r}, which does not begin with https://."
        if problem:
            raise ValueError(f"it leads on to {problem.removesuffix('.')}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, seconds: float, download: "Future[bytes]") -> None:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "palimpsest"})
        with urllib.request.build_opener(_Redirects).open(request, timeout=seconds) as answer:
            content = answer.read(MAX_TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        download.set_exception(error)
        return
    if len(content) > MAX_TEXT_BYTES:
        download.set_exception(ValueError("it is larger than 1 MB"))
    else:
        download.set_result(content)


def _age_seconds(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _cached_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _store_text(path: Path | None, text: str) -> None:
    if path is None:
        return
    with suppress(OSError):  # not cached: it is fetched again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        new_path = path.with_suffix(".new")
        new_path.write_text(text, encoding="utf-8")
        new_path.replace(path)
