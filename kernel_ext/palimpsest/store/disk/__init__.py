"""File access: atomic writes, opening only regular files, disk errors as sentences, stalled writes."""
