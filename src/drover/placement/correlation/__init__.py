"""Plans that put units whose loads rise together on different nodes, so that no node peaks alone."""
