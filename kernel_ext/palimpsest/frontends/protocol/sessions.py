"""The command for a renamed notebook."""

from typing import Literal

from palimpsest.frontends.protocol.connection import CommandBase


class RenameNotebook(CommandBase):
    """Record that the notebook was renamed, and move its sessions to the new name.

    Both paths are those that the server reports. If the kernel has another notebook, or it was
    renamed already, the command has no effect.
    """

    type: Literal["rename"] = "rename"
    was: str
    notebook: str
