"""The nine lessons, one module each: what is predicted, what is true, and how an exercise is checked."""
