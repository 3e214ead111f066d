"""Atrium: everything that is deployed beside `app.py`."""
