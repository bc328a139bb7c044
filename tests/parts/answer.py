# SPDX-License-Identifier: Apache-2.0
"""Serves what commands answer: python3 answer.py ROUTE CONTENT-TYPE COMMAND [ROUTE CONTENT-TYPE COMMAND]…

A request to /ROUTE runs COMMAND by sh with $1 the file with its body, $2 the file for the answer, $3 the rest of the
path; a command that fails gives 500 with what it said. Listens on loopback, prints its port, ends with its standard
input.
"""
import http.server
import os
import subprocess
import sys
import tempfile
import threading

ROUTES = {sys.argv[i]: (sys.argv[i + 1], sys.argv[i + 2]) for i in range(1, len(sys.argv), 3)}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle_any(self):
        route, _, rest = self.path.lstrip("/").partition("/")
        if route not in ROUTES:
            return self.send_error(404)
        kind, command = ROUTES[route]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with tempfile.TemporaryDirectory() as folder:
            asked, answer = os.path.join(folder, "asked"), os.path.join(folder, "answer")
            with open(asked, "wb") as file:
                file.write(body)
            done = subprocess.run(["sh", "-c", command, "sh", asked, answer, rest], capture_output=True)
            status, text = 500, done.stdout + done.stderr
            if done.returncode == 0 and os.path.exists(answer):
                with open(answer, "rb") as file:
                    status, text = 200, file.read()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = handle_any


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
