"""Where the store is: what is said of one that cannot be used."""

from pathlib import Path

import pytest

from lovia_cli.settings import locate_store
from stores.errors import UserError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secretpw@h/db", "postgresql://u:***@h/db"),
        ("https://u:secretpw@h:80/x", "https://u:***@h:80/x"),
        ("postgres://u:a@secretpw/b@h/db", "postgres://u:***@h/db"),
        ("postgresql://h/db?user=u&password=secretpw&x=1", "postgresql://h/db?user=u&password=***&x=1"),
        ("https://h:80/x", "https://h:80/x"),
    ],
)
def test_x5_a_refused_store_is_named_without_its_password(url: str, shown: str) -> None:
    for flag, environ, source in [(url, {}, "--store"), (None, {"LOVIA_STORE": url}, "LOVIA_STORE")]:
        with pytest.raises(UserError) as refusal:
            locate_store(flag, environ, Path("/"))
        assert refusal.value.where == f"{source} {shown}"
