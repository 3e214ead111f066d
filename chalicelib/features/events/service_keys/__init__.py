"""Service keys, the credentials of the deployment that write and read application events in all organizations."""
