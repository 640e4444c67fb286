"""Choose the messages of a transcript that a request contains: fold, undone compactions, turns."""
