"""Witnesses: cosignatures of one log of all anchors, so that nobody can show different histories unnoticed."""
