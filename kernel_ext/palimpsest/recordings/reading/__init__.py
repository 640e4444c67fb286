"""Read the files of a recording within limits, and the neutral values that every importer yields."""
