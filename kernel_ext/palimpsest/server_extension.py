"""End the kernels of recorded files that no page has any more: an extension of Jupyter's server.

A page ends the kernel that reads a recorded file for its inspector. Where a browser was killed nobody is left to do so
but the server, which would start a kernel anew that ended of its own accord.

Border: tornado and traitlets, which the server brings. It knows nothing of the package, and no kernel imports it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tornado.ioloop import PeriodicCallback
from tornado.web import HTTPError
from traitlets import Float
from traitlets.config import LoggingConfigurable

RECORDING_PATH = re.compile(r"(?P<file>.+)-inspector-\d+")
"""The path of a session that the inspector started; ``recordingSession.ts`` makes it."""


class InspectorKernels(LoggingConfigurable):  # type: ignore[misc]  # traitlets has no types here
    """Looks for sessions of recorded files that no page has, and shuts them down.

    Contract: no other session is ended, and none while a page is connected to its kernel.
    """

    kept_seconds = Float(
        300, help="Seconds for which the kernel of a recorded file is kept without a page."
    ).tag(config=True)
    look_seconds = Float(60, help="Seconds between two looks.").tag(config=True)

    def __init__(self, server: Any) -> None:
        super().__init__(parent=server)
        self._server = server
        self._left_since: dict[str, float] = {}

    def start(self) -> None:
        """Look at each interval, as long as the server runs."""
        PeriodicCallback(self._end_left_kernels, self.look_seconds * 1000).start()

    def sessions_to_end(
        self, sessions: Iterable[Mapping[str, Any]], now_seconds: float
    ) -> list[str]:
        """Return the ids of sessions that were left long enough ago.

        Args:
            sessions: all that the server runs, as its REST API describes them.
            now_seconds: seconds of a clock that stands still while the computer sleeps, where the system has one.
        """
        left_ids = [str(session["id"]) for session in sessions if is_left(session)]
        self._left_since = {
            session_id: self._left_since.get(session_id, now_seconds) for session_id in left_ids
        }
        left_items = self._left_since.items()
        return [
            session_id
            for session_id, left_since in left_items
            if now_seconds - left_since >= self.kept_seconds
        ]

    async def _end_left_kernels(self) -> None:
        manager = self._server.session_manager
        try:
            sessions = await manager.list_sessions()
        except (HTTPError, KeyError):
            return  # one of them just ends, and the server cannot list them
        for session_id in self.sessions_to_end(sessions, self._server.io_loop.time()):
            try:
                await manager.delete_session(session_id)
            except (HTTPError, KeyError):
                continue  # a page was faster
            self.log.info("Ended the kernel of a recorded file that no page has any more.")


def is_left(session: Mapping[str, Any]) -> bool:
    """Return whether an inspector started a session for a recorded file, and no page is connected to it."""
    path = RECORDING_PATH.fullmatch(session["path"])
    # A server that does not count connections, such as a gateway's, says nothing about pages.
    return (
        session["type"] == "file"
        and path is not None
        and path["file"].rpartition("/")[2] == session["name"]
        and (session["kernel"] or {}).get("connections") == 0
    )


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Return what Jupyter's server loads."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Begin to look; the server calls this once, before its loop runs."""
    InspectorKernels(server).start()
