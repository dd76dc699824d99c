"""Of Flask-AppBuilder, what programs ask for that look for the product's tables."""


class Model:
    """The base of all models. Its metadata is set by superset.app.create_app; superset.extensions.db has none, as in the
    real one."""

    metadata = None
