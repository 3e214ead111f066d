"""Sites that organizations publish, with pages, menus and redirects."""
