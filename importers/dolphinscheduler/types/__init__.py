"""The task types of DolphinScheduler, each as one that Shoal has, or as something that a person has to do."""
