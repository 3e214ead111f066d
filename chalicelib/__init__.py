"""Atrium: everything that is deployed beside `app.py`."""

from chalicelib import features as features  # Every process knows what the features declare.
