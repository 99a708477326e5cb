"""A PostgreSQL server of the tests' own, where its programs are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

PASSWORD = "pa:ss/wörd@1"


def _folder_of_programs():
    """Where initdb is: on the path, or where Debian puts it."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def postgresql():
    """The address of a real server, with a password, up to the "?"."""
    psycopg = pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
    programs = _folder_of_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        user = {"user": account.pw_uid, "group": account.pw_gid}
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if user:
        os.chown(folder, user["user"], user["group"])
    password = folder / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    password.chmod(0o644)
    port = _free_port()

    def run(*command):
        # To a file: the server inherits the output, and a pipe would stay open as long as it runs.
        with (folder / "output").open("a") as output:
            subprocess.run(command, check=True, cwd=folder, stdout=output, stderr=output, **user)

    if user:
        (folder / "output").touch()
    run(
        *(programs / "initdb", "-D", folder / "data", "-U", "eva", "-A", "scram-sha-256"),
        *("--pwfile", password, "--no-locale", "-E", "UTF8", "--no-sync"),
    )
    settings = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    run(programs / "pg_ctl", "-D", folder / "data", "-w", "-o", settings, "start")
    try:
        quoted = PASSWORD.replace(":", "%3A").replace("/", "%2F").replace("@", "%40")
        yield f"postgresql://eva:{quoted}@127.0.0.1:{port}/postgres", psycopg
    finally:
        run(programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
