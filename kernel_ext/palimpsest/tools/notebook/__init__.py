"""The notebook and cells tools: read the cells of the notebook, and change and run them."""
