"""One kernel's application: its settings loaded, and everything wired."""

from palimpsest.app.wiring import App, tool

__all__ = ["App", "tool"]
