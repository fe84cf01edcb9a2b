"""Duties: periodic work of one master for the whole cluster."""
