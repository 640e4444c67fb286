"""What policies read of a timeline's items, and the changes that they may make to them."""
