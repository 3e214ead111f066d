"""What the seed makes, as literal data: a company that builds river gauges, and the people who read them."""
