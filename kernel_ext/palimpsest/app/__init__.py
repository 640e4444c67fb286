"""The application of one kernel: loads its settings and wires all layers together."""

from palimpsest.app.wiring import App, tool

__all__ = ["App", "tool"]
