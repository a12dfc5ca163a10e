"""What a measurement is: types, units, schema, refusal of other versions."""

from kiviat.record.errors import InputError
from kiviat.record.schema import RECORD_SCHEMA, RUN_SCHEMA, data_path, refuse_other_version, schema
from kiviat.record.types import Metric, Record, Row, Table, TableRow

__all__ = [
    "RECORD_SCHEMA",
    "RUN_SCHEMA",
    "InputError",
    "Metric",
    "Record",
    "Row",
    "Table",
    "TableRow",
    "data_path",
    "refuse_other_version",
    "schema",
]
