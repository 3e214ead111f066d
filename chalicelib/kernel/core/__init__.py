"""Foundations of everything else: time, ids, settings, logs and problems."""
