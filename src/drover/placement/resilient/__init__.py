"""Plans that carry as many combinations of input rates as possible."""
