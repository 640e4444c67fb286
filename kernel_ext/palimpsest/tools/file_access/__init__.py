"""File access of tools: path resolution, ignore rules, protected files, safe reading and replacing."""
