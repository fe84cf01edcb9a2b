"""Duties: what one master does once in a while for the whole cluster, and what the steps of each do."""
