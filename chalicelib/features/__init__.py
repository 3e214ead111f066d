"""One folder for each noun of the interface."""
