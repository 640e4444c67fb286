"""The channel to JupyterLab pages: carry out their commands and send them notices."""
