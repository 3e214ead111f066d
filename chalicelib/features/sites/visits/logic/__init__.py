"""Resolution of hosts and paths, pages as HTML, sitemaps and robots.txt."""
