"""Previews: a page as it would be, for members and for whoever they give a link."""
