"""Plans whose nodes rise and fall together, so that none stands out."""
