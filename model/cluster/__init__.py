"""The cluster: nodes, slots, duties, and the times after which nodes count as dead."""
