"""The configuration: the defaults, overridden by superset_config.py on the Python path."""

import importlib.util


class CeleryConfig:
    """The default for Celery without a configured broker: a file in the working directory, as in Superset."""

    broker_url = "sqla+sqlite:///celerydb.sqlite"
    result_backend = "db+sqlite:///celery_results.sqlite"
    beat_schedule = {"reports.scheduler": {"task": "reports.scheduler", "schedule": 60.0}}


DEFAULTS = {
    "SQLALCHEMY_ENGINE_OPTIONS": {},
    "PREVIOUS_SECRET_KEY": None,
    "CELERY_CONFIG": CeleryConfig,
    "RESULTS_BACKEND": None,
}
REQUIRED = ("SECRET_KEY", "SQLALCHEMY_DATABASE_URI")


class Invalid(Exception):
    """A required setting is missing."""


def load():
    """Run superset_config.py. As in Superset, its exceptions end the program."""
    settings = dict(DEFAULTS)
    if importlib.util.find_spec("superset_config"):
        import superset_config

        settings.update({name: getattr(superset_config, name) for name in dir(superset_config) if name.isupper()})
        print(f"Loaded your LOCAL configuration at [{superset_config.__file__}]", flush=True)
    for name in REQUIRED:
        if not settings.get(name):
            raise Invalid(f"superset_config.py sets no {name}")
    return settings


def __getattr__(name):
    """Return a setting of superset_config.py as an attribute of this module, as in Superset."""
    if name.isupper():
        settings = load()
        if name in settings:
            return settings[name]
    raise AttributeError(name)
