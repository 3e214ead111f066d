"""What callers learn about themselves: their credential, their organizations and their invitations."""
