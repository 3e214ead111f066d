"""Reference data: countries, currencies, languages, time zones and cities, the same for all tenants."""
