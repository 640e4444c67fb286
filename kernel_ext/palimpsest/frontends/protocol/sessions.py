"""A notebook that was renamed."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase


class RenameNotebook(CommandBase):
    """Note that the notebook was renamed, and move its sessions to the new name.

    Both paths are those that the server reports. If the kernel's notebook is another one, or was
    renamed already, nothing happens.
    """

    type: Literal["rename"] = "rename"
    was: str
    notebook: str
