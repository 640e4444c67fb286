"""The sessions of a project that this kernel has open: written by it, or followed while another kernel writes."""
