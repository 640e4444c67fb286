"""A session that this kernel has open: one that it writes, or one that another kernel writes and it follows.

Border: everything of both may be called from any thread unless it is a coroutine; coroutines run
on the engine thread (``EngineThread.submit``).
"""

from typing import TypeAlias

from palimpsest.session.open_sessions.followed_session import FollowedSession
from palimpsest.session.open_sessions.live_session import LiveSession

KernelSession: TypeAlias = LiveSession | FollowedSession
