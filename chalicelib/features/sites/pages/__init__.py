"""Pages of a site: drafts, revisions and publication."""
