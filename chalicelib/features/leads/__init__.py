"""Leads: people who left their address, as operators see them and as each of them sees what they sent."""
