"""Front ends in a kernel: magics, main-thread jobs, page channel, cell outputs, subcommands, protocol."""
