"""Attachments: what the nodes of a taxonomy are put on."""
