"""The review of a session for its public object: read from its file or made, and again when the log has grown."""

from palimpsest.app.wiring import App
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.recordings.stored_review import stored_review
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Price


class SessionReviews:
    """Keeps the newest review of one session."""

    def __init__(self, app: App, session_id: str) -> None:
        self._app = app
        self._session_id = session_id
        self._known: tuple[int, SessionReview] | None = None

    def at(self, seq: int) -> SessionReview:
        """Return the review of the session as it is after a record; the same one until there are more."""
        if self._known is None or self._known[0] != seq:
            store = self._app.services.store
            self._known = seq, stored_review(store, self._session_id, self._price, in_file=True)
        return self._known[1]

    def _price(self, model: str) -> Price | None:
        try:
            return self._app.info(model).price
        except ConfigError:
            return None
