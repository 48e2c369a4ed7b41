"""The modules that an import of the package loads."""

import subprocess
import sys


def modules_after(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_importing_the_package_imports_none_of_its_modules() -> None:
    loaded = modules_after("import p2pdice") - modules_after("pass")
    assert {name for name in loaded if name.startswith("p2pdice")} == {"p2pdice"}


def test_the_game_needs_only_the_standard_library() -> None:
    loaded = modules_after("import p2pdice.engine, p2pdice.views, p2pdice.players") - modules_after("pass")
    allowed = sys.stdlib_module_names | {"p2pdice"}
    assert {name.partition(".")[0] for name in loaded} <= allowed
