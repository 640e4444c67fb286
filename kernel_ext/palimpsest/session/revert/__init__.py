"""Messages and files taken back, that undone again, and a session forked."""
