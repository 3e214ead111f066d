"""Rules of application events."""
