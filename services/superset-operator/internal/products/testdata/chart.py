"""Stores a chart as the product does: of a query to the metastore's server, with one owner. The last line is its id."""

import json

from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.connectors.sqla.models import SqlaTable, TableColumn
    from superset.extensions import db, security_manager
    from superset.models.core import Database
    from superset.models.slice import Slice

    owner = security_manager.add_user(
        "ada", "Ada", "L", "ada@example.com", security_manager.find_role("Admin"), "a password"
    )
    warehouse = Database(database_name="warehouse")
    warehouse.set_sqlalchemy_uri(app.config["SQLALCHEMY_DATABASE_URI"])
    db.session.add(warehouse)
    db.session.flush()
    sales = SqlaTable(table_name="sales", database=warehouse, sql="SELECT 42 AS amount", owners=[owner])
    sales.columns = [TableColumn(column_name="amount", type="INTEGER")]
    db.session.add(sales)
    db.session.flush()
    query = {
        "datasource": {"id": sales.id, "type": "table"},
        "queries": [{"columns": ["amount"], "metrics": [], "row_limit": 10}],
        "result_format": "json",
        "result_type": "full",
    }
    chart = Slice(
        slice_name="Amounts",
        datasource_id=sales.id,
        datasource_type="table",
        viz_type="table",
        params=json.dumps({"viz_type": "table", "datasource": f"{sales.id}__table"}),
        query_context=json.dumps(query),
        owners=[owner],
    )
    db.session.add(chart)
    db.session.commit()
    print(chart.id)
