"""Resolution of hosts and paths, page views, sitemaps and robots.txt."""
