"""The name of a project's folder, for those who only look for one."""

FOLDER = ".palimpsest"
