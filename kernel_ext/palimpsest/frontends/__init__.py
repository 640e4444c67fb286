"""The kernel and the page: magics, pump, channel, cell outputs, commands."""
