"""`lovia init`: what it writes runs at once, and it never touches what is there."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lovia_cli.cli.commands.init import FOLDER, TEMPLATES
from tests.architecture import ROOT
from tests.cli.lovia import Lovia, Ran

FILES = [".env.example", "agent.yaml", "offline.yaml", "tools.py"]
ANSWERS = {
    "basic": "It is on its way and arrives on Monday.\n",
    "tools": "20 packs of tea are ordered; coffee will do.\n",
}


def next_command(ran: Ran) -> str:
    """The last line, which is there to be pasted."""
    return ran.out.splitlines()[-1].strip()


def test_every_template_is_tested() -> None:
    assert set(ANSWERS) == set(TEMPLATES) == {path.name for path in FOLDER.iterdir()}


def test_what_a_newcomer_reads(lovia: Lovia) -> None:
    ran = lovia("init", "shop")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "wrote shop/.env.example\nwrote shop/agent.yaml\nwrote shop/offline.yaml\nwrote shop/tools.py\n"
        'run it, offline:\n  cd shop && lovia run agent.yaml "Where is order 1001?"\n'
    )


@pytest.mark.parametrize("template", ANSWERS)
@pytest.mark.parametrize("folder", ["shop", "a b/it's", "./-x", "."])
def test_the_next_command_works_as_printed(lovia: Lovia, template: str, folder: str) -> None:
    ran = lovia("init", "--template", template, "--", folder)
    assert ran.code == 0
    assert sorted(path.name for path in (lovia.folder / folder).glob("*") if path.is_file()) == FILES
    assert lovia.shell(next_command(ran)).out == ANSWERS[template]
    assert (lovia.folder / folder / ".lovia" / "runs").is_dir()


@pytest.mark.parametrize("template", ANSWERS)
def test_every_template_is_valid_and_has_its_tools(lovia: Lovia, template: str) -> None:
    lovia("init", "--template", template)
    assert lovia("validate", "agent.yaml").out == "valid: agent.yaml\n"


def test_the_basic_template_is_a_conversation(lovia: Lovia) -> None:
    lovia("init")
    said = [
        lovia("run", "agent.yaml", text, "-s", "me").out for text in ("Where is my order?", "It is 1002", "And 1001?")
    ]
    assert said == [
        "Which order is it? I know of 1001 and 1002.\n",
        "It leaves as soon as it is paid.\n",
        "It is on its way and arrives on Monday.\n",
    ]


def test_the_tools_template_orders_once_whatever_happens(lovia: Lovia) -> None:
    lovia("init", "--template", "tools")
    for _ in range(2):
        assert lovia("run", "agent.yaml", "Look", "--run-id", "r1", "-p", "minimum=5").code == 0
    assert (lovia.folder / "orders.csv").read_text() == "r1/2.1,tea,20\n"


def test_a_leading_dash_is_a_folder_like_any_other(lovia: Lovia) -> None:
    ran = lovia("init", "--", "-")
    assert next_command(ran).startswith("cd ./- && ")
    assert lovia.shell(next_command(ran)).out == ANSWERS["basic"]


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten_and_nothing_written_beside_it(lovia: Lovia, name: str) -> None:
    (lovia.folder / "shop").mkdir()
    lovia.write(f"shop/{name}", "mine")
    ran = lovia("init", "shop", "--json")
    assert (ran.code, ran.json["exit_code"], ran.json["error"]["code"]) == (6, 6, "conflict")
    assert f"nothing written, because there is already: {name} (shop)" in ran.json["error"]["message"]
    assert [(path.name, path.read_text()) for path in (lovia.folder / "shop").iterdir()] == [(name, "mine")]


def test_a_link_to_nowhere_is_a_file_too(lovia: Lovia) -> None:
    (lovia.folder / "tools.py").symlink_to(lovia.folder / "elsewhere.py")
    assert lovia("init").code == 6
    assert [path.name for path in lovia.folder.iterdir()] == ["tools.py"]


def test_a_second_init_names_every_file(lovia: Lovia) -> None:
    lovia("init")
    before = {path: path.read_bytes() for path in lovia.folder.glob("*") if path.is_file()}
    ran = lovia("init", "--template", "tools")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err.startswith("error: nothing written, because there is already: " + ", ".join(FILES))
    assert {path: path.read_bytes() for path in before} == before


def test_a_file_in_the_folders_place_is_refused(lovia: Lovia) -> None:
    lovia.write("shop", "")
    assert (lovia("init", "shop").code, lovia("init", "shop/deep").code) == (6, 2)
    assert [path.name for path in lovia.folder.iterdir()] == ["shop"]


def test_no_store_is_made_where_one_is_found_or_named(lovia: Lovia) -> None:
    lovia("init")
    lovia("init", "inside")
    lovia("init", "named", "--store", "elsewhere")
    made = sorted(path.parent.name for path in lovia.folder.rglob(".lovia"))
    assert made == [lovia.folder.name]


def test_a_named_store_is_in_the_next_command(lovia: Lovia) -> None:
    ran = lovia("init", "shop", "--store", "my store")
    assert lovia.shell(next_command(ran)).out == ANSWERS["basic"]
    assert (lovia.folder / "my store" / "runs").is_dir()


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("team", "the template 'team' is not there yet in this version of lovia"),
        ("tems", "there is no template 'tems'"),
    ],
)
def test_a_template_that_is_not_there(lovia: Lovia, template: str, what: str) -> None:
    ran = lovia("init", "shop", "--template", template)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {what}\n  where: lovia init\n  hint: use one of: basic, tools\n"
    assert list(lovia.folder.iterdir()) == []


def test_json_has_the_next_command(lovia: Lovia) -> None:
    assert lovia("init", "shop", "--json").json == {
        "v": 1, "exit_code": 0, "folder": str(lovia.folder / "shop"), "files": FILES, "template": "basic",
        "next": 'cd shop && lovia run agent.yaml "Where is order 1001?"',
    }  # fmt: skip


def test_templates_and_completions_are_in_the_wheel(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    data = {str(path.relative_to(ROOT)) for name in ("templates", "completions") for path in _files(name)}
    assert len(data) == 4 * len(TEMPLATES) + 3
    assert data <= set(zipfile.ZipFile(wheel).namelist())


def _files(name: str) -> list[Path]:
    found = (ROOT / "lovia_cli" / name).rglob("*")
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]
