"""Leads: contact requests, as operators manage them and as their senders see them."""
