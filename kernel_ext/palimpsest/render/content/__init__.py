"""What every view shows: the outline of parts, excerpts, phrases, reasons of decisions, CSS."""
