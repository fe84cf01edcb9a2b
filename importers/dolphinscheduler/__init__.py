"""The import of Apache DolphinScheduler's definitions, in all forms in which they are exported and posted."""
