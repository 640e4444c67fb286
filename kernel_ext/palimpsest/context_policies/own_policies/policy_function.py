"""The type of a user's own policy as a function; its view is imported where one is called."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from palimpsest.context_policies.interface.policy import Change, Probe

if TYPE_CHECKING:
    from palimpsest.context_policies.own_policies.past_view import PastView

PolicyFunction = Callable[["PastView"], Iterable[Change | Probe]]
