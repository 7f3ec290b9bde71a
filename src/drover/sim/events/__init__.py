"""The event core: arrivals, service, emission."""
