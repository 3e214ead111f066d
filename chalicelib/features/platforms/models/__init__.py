"""Request and response models of platforms, and rules of colors and nested items."""
