"""Prints what the loaded application has, as one line of JSON."""

import json

from superset.tasks.celery_app import app as celery, flask_app

engine = flask_app.config["SQLALCHEMY_ENGINE_OPTIONS"]
with flask_app.app_context():
    from superset.extensions import db

    # The real pool, with a connection through it.
    with db.engine.connect() as connection:
        isolation = connection.get_isolation_level()
    examples = flask_app.config["SQLALCHEMY_EXAMPLES_URI"] == flask_app.config["SQLALCHEMY_DATABASE_URI"]
    print(
        json.dumps(
            {
                "schedule": sorted(celery.conf.beat_schedule),
                "imports": len(celery.conf.imports),
                "prefetch": celery.conf.worker_prefetch_multiplier,
                "acksLate": celery.conf.task_acks_late,
                "broker": celery.conf.broker_url.rpartition("@")[2],
                "connectTimeout": engine.get("connect_args"),
                "isolation": isolation,
                "examplesAreTheMetastore": examples,
                "fallbacks": flask_app.config.get("SECRET_KEY_FALLBACKS"),
                "proxies": flask_app.config["ENABLE_PROXY_FIX"],
                "limits": flask_app.config.get("RATELIMIT_APPLICATION"),
                "links": flask_app.config["WEBDRIVER_BASEURL_USER_FRIENDLY"],
                "reports": "reports.scheduler" in celery.tasks,
            },
            sort_keys=True,
        )
    )
