"""Parts of formats that take more than one module: indexes, threads, spans, subagents."""
