"""The state of the cluster: slots, and the checks of the doctor."""
