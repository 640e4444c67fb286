"""The session object that a person holds in a variable, and what it is made of."""

from palimpsest.public.session_object import Session, open_session

__all__ = ["Session", "open_session"]
