"""DAG files of Airflow, read and never run."""
