#!/bin/sh
# Starts the web server with the settings that Superset's own image takes from the environment.
exec gunicorn --bind "${SUPERSET_BIND_ADDRESS:-0.0.0.0}:${SUPERSET_PORT:-8088}" --access-logfile - --error-logfile - \
  --workers "${SERVER_WORKER_AMOUNT:-1}" --worker-class "${SERVER_WORKER_CLASS:-gthread}" \
  --threads "${SERVER_THREADS_AMOUNT:-20}" --log-level "${GUNICORN_LOGLEVEL:-info}" \
  --timeout "${GUNICORN_TIMEOUT:-60}" --keep-alive "${GUNICORN_KEEPALIVE:-2}" \
  --max-requests "${WORKER_MAX_REQUESTS:-0}" --max-requests-jitter "${WORKER_MAX_REQUESTS_JITTER:-0}" \
  --limit-request-line "${SERVER_LIMIT_REQUEST_LINE:-0}" \
  --limit-request-field_size "${SERVER_LIMIT_REQUEST_FIELD_SIZE:-0}" 'superset.app:create_app()'
