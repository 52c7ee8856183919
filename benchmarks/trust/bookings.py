"""The bookings service: its paths, its contracts, and the cases over it."""

from __future__ import annotations

from cases import Catalogue

API = "booking/api.py"
JSON = "booking/json_form.py"
MODELS = "booking/models.py"
DESK = "booking/desk.py"
STORE = "booking/store.py"
OVERLAP = "booking/overlap.py"
DOCUMENT = "contracts/openapi.json"
SCHEMA = "contracts/booking.schema.json"
CODE = ("booking/**", "tests/**")
ANY_CODE = (*CODE, "contracts/**")
CONTRACT = (f"- Contracts:\n  - openapi: `{DOCUMENT}` app=`booking.api:app`",)
MODEL_CONTRACT = (f"- Contracts:\n  - schema: `{SCHEMA}` = `booking.models:Booking`",)
RED_FIRST = ("- Red first: yes",)
ONE_TEST = "python3 -m unittest -q tests.test_api.ApiTest.test_back_to_back_is_not_taken"
BOOKINGS = Catalogue("bookings", bad_outputs=ANY_CODE, good_outputs=CODE)
bad, good = BOOKINGS.bad, BOOKINGS.good


def of(name: str) -> str:
    """The command of one test file."""
    return f"python3 -m unittest -q tests.test_{name}"
