"""A hub on this machine: the few answers of Hugging Face's that its own client needs to fetch a repository."""

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

REVISION = "0123456789abcdef0123456789abcdef01234567"


class LocalHub(ThreadingHTTPServer):
    """Serves the repositories `folder/models/owner/name` and `folder/datasets/owner/name`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.fetched: list[str] = []
        """The files that were asked for."""
        self.address = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> "LocalHub":
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def repository(self, kind: str, name: str) -> Path:
        return self.folder / kind / name


class Answer(BaseHTTPRequestHandler):
    """To one request."""

    server: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if about := re.fullmatch(r"/api/(models|datasets)/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path):
            repository = self.server.repository(about[1], about[2])
            return self.tree(repository) if about[3] == "tree" else self.about(repository, about[4])
        if file := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            return self.file(self.server.repository("datasets" if file[1] else "models", file[2]), file[3])
        return self.reply(404, b"{}")

    def about(self, repository: Path, revision: str) -> None:
        if not repository.is_dir():
            self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif revision not in ("main", REVISION):
            self.reply(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        else:
            self.json({"id": repository.name, "sha": REVISION})

    def tree(self, repository: Path) -> None:
        files = sorted(path for path in repository.rglob("*") if path.is_file())
        about = [(str(path.relative_to(repository)), path.stat().st_size) for path in files]
        self.json([{"type": "file", "path": path, "size": size, "oid": REVISION} for path, size in about])

    def file(self, repository: Path, name: str) -> None:
        content = (repository / name).read_bytes()
        if self.command == "GET":
            self.server.fetched.append(name)
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        self.reply(200, content, {"ETag": tag, "X-Repo-Commit": REVISION})

    def json(self, told: object) -> None:
        self.reply(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def reply(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)
