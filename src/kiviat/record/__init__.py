"""Types of measurements and runs, units, schemas, and refusal of unknown versions."""

from kiviat.record.errors import InputError, NotStartedError, before_start
from kiviat.record.schema import (
    OLDER_RECORD_SCHEMAS,
    OLDER_RUN_SCHEMAS,
    RECORD_SCHEMA,
    RUN_SCHEMA,
    UNSEALED_RECORD_SCHEMA,
    data_path,
    refuse_other_version,
    schema,
)
from kiviat.record.types import Metric, Record, Row, Table, TableRow
from kiviat.record.writing import is_replaced, refusing, replacing, write_whole

__all__ = [
    "OLDER_RECORD_SCHEMAS",
    "OLDER_RUN_SCHEMAS",
    "RECORD_SCHEMA",
    "RUN_SCHEMA",
    "UNSEALED_RECORD_SCHEMA",
    "InputError",
    "Metric",
    "NotStartedError",
    "Record",
    "Row",
    "Table",
    "TableRow",
    "before_start",
    "data_path",
    "is_replaced",
    "refuse_other_version",
    "refusing",
    "replacing",
    "schema",
    "write_whole",
]
