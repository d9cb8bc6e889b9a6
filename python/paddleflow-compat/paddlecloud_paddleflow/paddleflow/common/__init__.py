"""What the parts of the client share."""
