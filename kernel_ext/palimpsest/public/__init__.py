"""The ``Session`` object of the Python API, and the parts it is made of."""

from palimpsest.public.session_object import Session, open_session

__all__ = ["Session", "open_session"]
