"""The foundation of all features, which does not depend on any of them."""
