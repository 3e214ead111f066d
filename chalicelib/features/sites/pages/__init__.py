"""Pages: what a site shows, drafted, kept as revisions and published."""
