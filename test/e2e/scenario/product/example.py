"""Loads one of Superset's examples into the database of the metastore, where init loads all of them with loadExamples.

The last line is the id of its dataset.
"""

from superset.app import create_app

app = create_app()
app.config["SQLALCHEMY_EXAMPLES_URI"] = app.config["SQLALCHEMY_DATABASE_URI"]
with app.app_context():
    from superset.connectors.sqla.models import SqlaTable
    from superset.examples.data_loading import load_international_sales
    from superset.extensions import db

    load_international_sales()
    db.session.commit()
    print(db.session.query(SqlaTable).filter_by(table_name="international_sales").one().id)
