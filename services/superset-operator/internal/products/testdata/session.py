"""Makes the session of a user who logged in, or reads with it. The last line is the cookie, or the user.

Usage: session.py login | session.py read COOKIE
"""

import sys

from superset.app import create_app

app = create_app()
browser = {"headers": {"User-Agent": "browser"}, "environ_overrides": {"REMOTE_ADDR": "127.0.0.1"}}
name = app.config["SESSION_COOKIE_NAME"]
if sys.argv[1] == "login":
    with app.test_request_context("/", **browser):
        from flask import session
        from flask_login import login_user

        from superset.extensions import security_manager

        role = security_manager.find_role("Admin") or security_manager.add_role("Admin")
        login_user(security_manager.add_user("ada", "Ada", "L", "ada@example.com", role, "a password"))
        answer = app.response_class()
        app.session_interface.save_session(app, session, answer)
        cookie = answer.headers["Set-Cookie"]
    print(cookie.partition(";")[0].removeprefix(name + "="))
else:
    browser["headers"]["Cookie"] = f"{name}={sys.argv[2]}"
    with app.test_request_context("/", **browser):
        from flask_login import current_user

        print(getattr(current_user, "username", "nobody"))
