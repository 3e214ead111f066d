"""Changes of menus, and the entries that visitors see."""
