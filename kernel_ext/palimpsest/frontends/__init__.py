"""The kernel and the page: magics, jobs on the main thread, channel, cell outputs, commands."""
