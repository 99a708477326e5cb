"""The room costs nothing until a request is made, and says what to install."""

import subprocess
import sys

import rageval_report.http


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_the_face_holds_what_others_stand_on():
    names = ["Client", "HttpResponse", "Key", "RequestError", "key_from_environment"]
    assert dir(rageval_report.http) == rageval_report.http.__all__ == names
    assert all(getattr(rageval_report.http, name).__doc__ for name in names)


def test_naming_the_rooms_loads_no_http_library():
    done = run(
        "import sys, rageval_report.http, rageval_report.embeddings\n"
        "rageval_report.http.Key, rageval_report.embeddings.EMBEDDERS\n"
        "print({'httpx2', 'tenacity', 'numpy'} & set(sys.modules))"
    )
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


def test_without_the_http_library_the_line_that_installs_it_is_told():
    done = run(
        "import sys\nsys.modules['httpx2'] = None\n"
        "from rageval_report.embeddings import openai_embeddings"
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "MissingDependencyError: this needs the package 'httpx2', which is not installed" in last
    assert " install " in last
