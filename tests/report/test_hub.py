"""Archives are pushed and pulled: huggingface_hub talks to a server on this machine."""

import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import recall
from recall.cli import main
from recall.errors import RecallError
from recall.policies.policy import TRAINED
from recall.runs.store import read
from tests.factories.folders import write_fleet

REPO, COMMIT = "me/first", "0" * 40


class Hub(BaseHTTPRequestHandler):
    """The part of the Hub's interface that uploads and downloads of one repository need."""

    protocol_version = "HTTP/1.1"
    files: dict[str, bytes]

    def _send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer: dict[str, object] = {
            "url": f"http://{self.headers['Host']}/{REPO}",
            "commitUrl": REPO,
            "commitOid": COMMIT,
        }
        if "/preupload/" in self.path:
            names = [each["path"] for each in json.loads(body)["files"]]
            answer["files"] = [
                {"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names
            ]
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                name = line["value"].get("path")
                if line["key"] == "deletedFile":
                    del self.files[name]
                elif line["key"] == "file":
                    self.files[name] = base64.b64decode(line["value"]["content"])
        self._send(json.dumps(answer).encode(), Content_Type="application/json")

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        name = path.partition(f"/resolve/{COMMIT}/")[2]
        if name in self.files:
            tag = hashlib.sha1(self.files[name]).hexdigest()
            self._send(self.files[name], ETag=f'"{tag}"', X_Repo_Commit=COMMIT)
        elif path.startswith(f"/api/models/{REPO}"):
            listed = [
                {"path": name, "type": "file", "size": len(content), "oid": COMMIT}
                for name, content in self.files.items()
            ]
            siblings = [{"rfilename": each["path"]} for each in listed]
            info = {"id": REPO, "sha": COMMIT, "siblings": siblings}
            answer = listed if "/tree/" in path else info
            self._send(json.dumps(answer).encode(), Content_Type="application/json")
        else:
            self._send(b"", 404, X_Error_Code="RepoNotFound")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, bytes]]:
    """Serve an empty repository; return its files by name."""
    constants = pytest.importorskip("huggingface_hub.constants")
    handler = type("Handler", (Hub,), {"files": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
    )
    monkeypatch.setenv("HF_TOKEN", "hf_nobody")
    Thread(target=server.serve_forever, daemon=True).start()
    yield handler.files
    server.shutdown()
    server.server_close()


def test_what_is_pushed_comes_back_and_has_a_card(hub, tmp_path, capsys):
    source = write_fleet(tmp_path / "run", "recall", stamped=True, n_step=1)
    (source / "films").mkdir()
    (source / "films" / "learned.mp4").write_bytes(b"film")
    hub["policies/gone/final.npz"] = hub["mine.txt"] = b"of earlier"
    main(["push", str(source), REPO, "--private"])
    assert capsys.readouterr().out.strip().endswith(f"/{REPO}")
    figures = {"average_success-push-hammer.png", "task_curves-push-hammer.png"}
    records = {"run.json", "outcome.json", "archive.json"}
    records |= {"evaluations.jsonl.xz", "training.jsonl.xz"}
    shown = {"README.md", "replay.mp4", *(f"figures/{name}" for name in figures)}
    assert {*hub} == {"mine.txt"} | records | shown
    main(["pull", REPO, str(tmp_path / "pulled")])
    assert "1 fleet of 2 runs" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "pulled").iterdir()} == records
    assert read(tmp_path / "pulled").evaluations == read(source).evaluations
    _, header, text = hub["README.md"].decode().split("---\n", 2)
    facts = yaml.safe_load(header)
    assert {"recall", "push", "hammer"} <= {*facts["tags"]}
    assert "| RECALL | 1.00 [1.00, 1.00] |" in text
    assert "--sac.n-step 1" in text
    assert "(replay.mp4)" in text
    assert str(tmp_path) not in text


@pytest.fixture
def trained(hub):
    """Serve the archive that comes with the package."""
    paths = [path for path in TRAINED.rglob("*") if path.is_file()]
    hub |= {path.relative_to(TRAINED).as_posix(): path.read_bytes() for path in paths}
    return hub


def test_pulled_policies_are_those_that_were_pushed(trained, tmp_path):
    made = recall.pull(REPO, tmp_path / "pulled", revision=COMMIT)
    assert made.policies == 1
    for path in (tmp_path / "pulled" / "policies").rglob("*.npz"):
        assert path.read_bytes() == trained[path.relative_to(tmp_path / "pulled").as_posix()]
    assert recall.load_policy(tmp_path / "pulled", "hammer").task == "hammer"


def test_a_hostile_repository_leaves_nothing_behind(trained, tmp_path):
    name = next(name for name in trained if name.endswith(".npz"))
    description = json.loads(trained["run.json"])
    description["runs"][0]["name"] = "../../planted"
    harmful = {
        name: trained[name][:-9] + b"elsewhere",
        "run.json": json.dumps(description).encode(),
    }
    for name, content in harmful.items():
        whole = trained[name]
        trained[name] = content
        with pytest.raises(RecallError, match="damaged"):
            recall.pull(REPO, tmp_path / "pulled")
        trained[name] = whole
    assert not any(tmp_path.iterdir())


def test_what_keeps_from_the_hub_is_one_sentence(hub, tmp_path, monkeypatch):
    source = write_fleet(tmp_path / "run")
    with pytest.raises(RecallError, match="me/none: RepositoryNotFoundError"):
        recall.pull("me/none", tmp_path / "pulled")
    with pytest.raises(RecallError, match="a name"):
        recall.push(source, "no/such/a name")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(RecallError, match=f"{REPO}: OfflineModeIsEnabled"):
        recall.push(source, REPO)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RecallError, match="pip install huggingface_hub"):
        recall.push(source, REPO)
