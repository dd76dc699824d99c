"""Stores an alert as the product does: one that is due each minute, and is true, of a query to the metastore's server."""

from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.extensions import db, security_manager
    from superset.models.core import Database
    from superset.models.dashboard import Dashboard
    from superset.reports.models import (
        ReportRecipients,
        ReportRecipientType,
        ReportSchedule,
        ReportScheduleType,
        ReportScheduleValidatorType,
    )

    role = security_manager.find_role("Admin") or security_manager.add_role("Admin")
    owner = security_manager.add_user("ada", "Ada", "L", "ada@example.com", role, "a password")
    warehouse = Database(database_name="warehouse")
    warehouse.set_sqlalchemy_uri(app.config["SQLALCHEMY_DATABASE_URI"])
    dashboard = Dashboard(dashboard_title="Sales")
    db.session.add_all([warehouse, dashboard])
    db.session.flush()
    alert = ReportSchedule(
        type=ReportScheduleType.ALERT,
        name="Too many",
        crontab="* * * * *",
        sql="SELECT 10",
        database=warehouse,
        dashboard=dashboard,
        owners=[owner],
        validator_type=ReportScheduleValidatorType.OPERATOR,
        validator_config_json='{"op": ">", "threshold": 5}',
        recipients=[
            ReportRecipients(
                type=ReportRecipientType.EMAIL, recipient_config_json='{"target": "ops@example.com"}'
            )
        ],
    )
    db.session.add(alert)
    db.session.commit()
print("stored")
