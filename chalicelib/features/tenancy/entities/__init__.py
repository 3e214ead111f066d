"""The stored records of organizations and memberships."""
