"""Signed distance fields: their values and slopes, the search for contacts, and the contacts."""
