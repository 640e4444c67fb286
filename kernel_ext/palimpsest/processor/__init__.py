"""One model call: every stream event becomes a change of one part; tool calls are run."""
