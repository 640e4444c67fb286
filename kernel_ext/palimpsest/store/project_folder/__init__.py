"""The project folder ``.palimpsest``: paths, layout version, migrations, project id, session leases."""
