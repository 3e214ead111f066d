"""Previews of pages, for members and by link."""
