"""Platforms: what an organization runs, with its look, its navigation and its home."""
