"""Stores secrets as the product does: databases with passwords, an SSH tunnel, an OAuth token."""

from superset.app import create_app

app = create_app()
with app.app_context():
    from superset.databases.ssh_tunnel.models import SSHTunnel
    from superset.extensions import db, security_manager
    from superset.models.core import Database, DatabaseUserOAuth2Tokens

    role = security_manager.find_role("Admin") or security_manager.add_role("Admin")
    user = security_manager.add_user("ada", "Ada", "L", "ada@example.com", role, "a password")
    for n in range(3):
        store = Database(
            database_name=f"warehouse {n}",
            sqlalchemy_uri="postgresql://reader:XXXXXXXXXX@db.example.com/warehouse",
            password=f"pässword {n}",
            encrypted_extra='{"oauth2_client_info": {"id": "%d"}}' % n,
            server_cert="-----BEGIN CERTIFICATE-----\n" * 40 if n else None,
        )
        db.session.add(store)
    db.session.flush()
    db.session.add(
        SSHTunnel(
            database_id=store.id,
            server_address="ssh.example.com",
            server_port=22,
            username="tunnel",
            private_key="-----BEGIN KEY-----\n" * 30,
            private_key_password="k",
        )
    )
    db.session.add(
        DatabaseUserOAuth2Tokens(user_id=user.id, database_id=store.id, access_token="access", refresh_token="refresh")
    )
    db.session.commit()
print("stored")
