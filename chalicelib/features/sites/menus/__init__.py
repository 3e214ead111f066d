"""Menus: where a site leads its visitors, by the pages it has and to others."""
