"""Markdown, blocks and themes rendered as HTML and CSS."""
