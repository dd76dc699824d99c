"""The configuration: the defaults, and over them what superset_config.py on the Python path says."""

import importlib.util


class CeleryConfig:
    """What Celery gets where the configuration names no broker: a file in the working folder, as in the real one."""

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
    """The configuration lacks something."""


def load():
    """Runs superset_config.py. What it raises ends the program, as in the real one."""
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
    """Programs that read settings from this module get those of superset_config.py, as in the real one."""
    if name.isupper():
        settings = load()
        if name in settings:
            return settings[name]
    raise AttributeError(name)
