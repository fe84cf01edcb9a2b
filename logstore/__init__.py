"""Where copies of logs outlive their workers: a folder that machines share, or S3-compatible storage."""
