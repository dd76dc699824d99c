"""The Celery application of workers, scheduler and Flower: superset.tasks.celery_app:app."""

import time
from datetime import datetime, timezone

from celery import Celery
from celery.signals import worker_process_init

from superset import config, release
from superset.metastore import Metastore

settings = config.load()
app = Celery("superset")
app.config_from_object(settings["CELERY_CONFIG"])
store = Metastore(settings)


@worker_process_init.connect
def forget_connections(**_):
    # A forked process must not use its parent's connections.
    store.engine.dispose()


@app.task(name="sql_lab.get_sql_results")
def run_query(pause_ms):
    time.sleep(pause_ms / 1000)
    return f"{release.signature()} databases={store.opened()}"


@app.task(name="reports.scheduler")
def schedule_reports():
    """Insert a row for each call of the scheduler, so two active schedulers can be detected."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    with store.engine.begin() as connection:
        connection.execute(store.reports.insert().values(scheduled_at=now, worker=release.POD))
