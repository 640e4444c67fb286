"""What a project's files may set although nobody trusted them, and what a person's trust is bound to."""
