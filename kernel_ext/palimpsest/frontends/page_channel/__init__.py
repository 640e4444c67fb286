"""The channel to JupyterLab pages: run their commands and send them notices."""
