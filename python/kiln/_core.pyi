"""Types of the extension. Use `kiln` and `kiln.device_codegen`; what is not listed here is theirs alone."""

from collections.abc import Mapping
from typing import Any, Callable, final

@final
class TargetKind:
    """A target's kind."""

    @property
    def name(self) -> str: ...
    @property
    def default_device_type(self) -> int:
        """DLPack's DLDeviceType of the devices that the code runs on."""

@final
class Target:
    """A compilation target; immutable, hashable, equal when every part is."""

    def __init__(self, target: Target | str | dict[str, Any] | Any) -> None:
        """Reads a kind ("cuda"), a kind with options ("cuda -arch=sm_90a"), JSON, a dict, or a live target of TileLang or TVM.

        Raises KilnError of code "unknown_target" for a kind or an attribute that is not known, "invalid_argument" for malformed text;
        TypeError for other types.
        """

    @property
    def kind(self) -> TargetKind: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def attrs(self) -> Mapping[str, bool | int | float | str | tuple[str, ...]]:
        """The attributes that are set, without kind, keys, tag and host."""

    @property
    def tag(self) -> str: ...
    @property
    def host(self) -> Target | None: ...
    def to_json(self) -> str:
        """JSON that reads back to an equal target."""

@final
class IRModule:
    """A device IRModule; immutable."""

    @staticmethod
    def load(path: str) -> IRModule:
        """Reads a file: TVM's JSON or TVMScript, plain, gzip or zstd. Raises KilnError with the place of the fault."""

    @staticmethod
    def parse(text: str, file: str = "<text>") -> IRModule:
        """The same from text; `file` names it in errors."""

    def script(self) -> str:
        """The module as TVMScript."""

@final
class Module:
    """Device code: a handle of a tvm-ffi module."""

    def inspect_source(self, format: str = "") -> str:
        """Source text in `format`, "" being the module's own; "" when it has none."""

    @property
    def kind(self) -> str: ...
    @property
    def functions(self) -> list[str]:
        """Names of the kernels, in the order of the module."""

    def artifact(self, format: str) -> bytes:
        """The artifact in `format` ("source", "so", "obj", ...), made when asked for. KilnError when the codegen has none."""

    def get_function(self, name: str) -> Callable[..., Any]:
        """The kernel as a tvm_ffi.Function: takes DLPack tensors and scalars in the kernel's parameter order."""

    def __getitem__(self, name: str) -> Callable[..., Any]: ...
    def to_tvm_ffi(self) -> Any:
        """The same module as a tvm_ffi.Module."""
