"""Verification of custom domains in DNS."""
