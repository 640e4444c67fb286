"""Commands from pages carried out, and notices sent to them."""
