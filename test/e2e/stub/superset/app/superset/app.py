"""The application that gunicorn and programs that need its context create with superset.app:create_app()."""

import os
from contextlib import nullcontext

from flask_appbuilder import Model

from superset import config, web
from superset.extensions import db
from superset.metastore import Metastore


class Application:
    def __init__(self):
        self.config = config.load()
        self.store = Metastore(self.config)
        Model.metadata, db.engine = self.store.tables, self.store.engine
        # A web server rejects an older schema; a task may be the one that upgrades it.
        if os.environ.get("SERVER_SOFTWARE", "").startswith("gunicorn"):
            self.store.require_schema()
        self.pages = web.application(self.store)

    def app_context(self):
        return nullcontext()

    def __call__(self, environ, start_response):
        return self.pages(environ, start_response)


def create_app():
    return Application()
