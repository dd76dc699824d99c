"""A small HTTP server for components without pages. After SIGTERM it answers running requests and exits."""

import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for them
    request_queue_size = 128


def serve(host, port, respond):
    """Serve until SIGTERM. respond gets method, path, headers and body, and returns status, content type and text."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def handle_one(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, kind, text = respond(self.command, self.path.split("?")[0], self.headers, body)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_one

    server = Server((host, port), Handler)

    def end(*_):
        # shutdown waits for the loop that this handler interrupted.
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    print(f"listening on {host}:{port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.server_close()
