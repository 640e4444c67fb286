"""Run the agent's Python on the kernel's main thread: jobs, output, interrupts."""
