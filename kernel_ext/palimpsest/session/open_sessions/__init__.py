"""The sessions of a project that this kernel has open, writes or follows."""
