"""Time: fire times, zones, and dates and durations as people write them."""
