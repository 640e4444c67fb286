"""What a turn shows in a cell or a terminal."""
