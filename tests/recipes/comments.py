"""The part of GitHub's and GitLab's interface that comments on merge requests and opens issues, on this
machine."""
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "a-token"
PER_PAGE = 100
LISTS = re.compile(r"/repos/team/project/issues/7/comments|/projects/42/merge_requests/7/notes")
ISSUES = re.compile(r"/repos/team/project/issues|/projects/42/issues")
ONE = re.compile(r"/repos/team/project/issues/comments/(\d+)|/projects/42/merge_requests/7/notes/(\d+)")


class Comments:
    """`bodies` are the comments of either service, by number; `issues` titles and texts."""

    def __init__(self):
        self.forget()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle_request(self):
                url = urllib.parse.urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.answer(*service.respond(self.command, url, self.headers, body))

            do_GET = do_POST = do_PATCH = do_PUT = handle_request

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forget(self):
        # As many by others as fill a page.
        self.issues = []
        self.bodies = {number: f"a remark, {number}" for number in range(1, PER_PAGE + 1)}

    def respond(self, method, url, headers, body):
        if TOKEN not in (headers.get("PRIVATE-TOKEN"), (headers.get("Authorization") or "")[len("Bearer "):]):
            return 401, {"message": "Unauthorized"}
        if method == "POST" and ISSUES.fullmatch(url.path):
            issue = json.loads(body)
            self.issues.append((issue["title"], issue["body" if "repos" in url.path else "description"]))
            return 201, {"number": len(self.issues)}
        one = ONE.fullmatch(url.path)
        if not one and not LISTS.fullmatch(url.path):
            return 404, {"message": "Not Found"}
        if method == "GET":
            query = dict(urllib.parse.parse_qsl(url.query))
            count = int(query.get("per_page", 30))
            start = (int(query.get("page", 1)) - 1) * count
            listed = [{"id": number, "body": text} for number, text in self.bodies.items()]
            return 200, listed[start:start + count]
        if method != ("POST" if not one else "PUT" if "notes" in url.path else "PATCH"):
            return 405, {"message": "Method Not Allowed"}
        try:
            text = json.loads(body)["body"]
        except (ValueError, KeyError, TypeError) as error:
            return 400, {"message": f"not a comment: {error!r}"}
        number = int(one[1] or one[2]) if one else max(self.bodies) + 1
        self.bodies[number] = text
        return (200 if one else 201), {"id": number, "body": text}

    def posted(self):
        """What was put there, and is not one of the others'."""
        return [text for number, text in self.bodies.items() if number > PER_PAGE]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
