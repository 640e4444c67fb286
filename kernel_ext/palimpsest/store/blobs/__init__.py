"""Storage of large contents by hash, in single files or packs, cleanup, and measuring disk use."""
