"""Text helpers: numbers in words, relative paths, todo lists, and joining of split surrogates."""
