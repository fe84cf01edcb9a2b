"""What the tests of the API share."""

from tests.shoal.conftest import sql as sql
