"""The engine's own presets as policies over a timeline, by the functions of the live loop."""
