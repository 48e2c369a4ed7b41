"""Write all generated vectors again, after a change of the protocol."""

from __future__ import annotations

from tests.vectors.matches import FILES
from tests.vectors.specification import FOLDER, PATH, with_vectors

for name, make in FILES.items():
    (FOLDER / name).write_bytes(make())
PATH.write_text(with_vectors(PATH.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
