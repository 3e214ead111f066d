"""Reference data: the countries, currencies, languages, time zones and cities of the world, the same for everyone."""
