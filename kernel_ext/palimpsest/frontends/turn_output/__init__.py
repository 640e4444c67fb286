"""Display of a turn's output in a cell or terminal."""
