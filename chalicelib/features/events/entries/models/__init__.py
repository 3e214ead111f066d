"""Models and settings of application events."""
