"""What the service needs of AWS; not deployed itself."""
