"""The contract classes are tests, so their assertions explain themselves too."""

import pytest

pytest.register_assert_rewrite("stores.conformance")
