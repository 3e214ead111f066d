"""Changes of menus, and the entries that a visitor sees."""
