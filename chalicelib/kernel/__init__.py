"""What every operation stands on; knows no feature by name."""
