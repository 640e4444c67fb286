"""What a person can ask for beside a prompt: each operation once, for cells, pages and Python."""
