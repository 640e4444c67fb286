"""Content shared by all formats: outline of parts, excerpts, phrases, reasons of decisions, CSS."""
