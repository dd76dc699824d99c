"""The part of Flask-AppBuilder through which programs find the tables of Superset."""


class Model:
    """Base class of all models. superset.app.create_app sets its metadata. As in Superset, superset.extensions.db has no
    tables."""

    metadata = None
