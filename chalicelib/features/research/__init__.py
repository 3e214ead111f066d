"""Research: what public sources say of researchers' works and of conferences, and the works that this adds up to."""
