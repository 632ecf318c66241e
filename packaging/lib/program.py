"""What a package has to know of the program that it is made of, read from the file itself."""

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ELF = b"\x7fELF"
ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
MACH_O = 0xFEEDFACF
MACH_O_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
# The kind of a program header that names a dynamic linker.
INTERPRETER = 3


def version() -> str:
    """The workspace's."""
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


@dataclass
class Program:
    """A program for one system and one kind of machine."""

    path: Path
    data: bytes
    system: str
    machine: str

    @classmethod
    def read(cls, path: str) -> "Program":
        file = Path(path).resolve()
        data = file.read_bytes()
        if data[:4] == ELF and data[4:6] == b"\x02\x01":
            system, machines, machine = "linux", ELF_MACHINES, struct.unpack_from("<H", data, 18)[0]
        elif len(data) >= 8 and struct.unpack_from("<I", data)[0] == MACH_O:
            system, machines, machine = "darwin", MACH_O_MACHINES, struct.unpack_from("<I", data, 4)[0]
        else:
            raise SystemExit(f"{path}: neither a program of Linux nor one of macOS, of 64 bits")
        if machine not in machines:
            raise SystemExit(f"{path}: a program for a machine with the number {machine}, which has no package")
        return cls(file, data, system, machines[machine])

    @property
    def target(self) -> str:
        """The name that Rust has for such systems."""
        return f"{self.machine}-" + {"linux": "unknown-linux-gnu", "darwin": "apple-darwin"}[self.system]

    @property
    def is_static(self) -> bool:
        """Whether it needs no dynamic linker. Of a program of Linux."""
        offset, size, count = (*struct.unpack_from("<Q", self.data, 32), *struct.unpack_from("<HH", self.data, 54))
        kinds = [struct.unpack_from("<I", self.data, offset + number * size)[0] for number in range(count)]
        return INTERPRETER not in kinds

    def libraries(self) -> list[Path]:
        """What has to lie beside it to run: its libraries and the dynamic linker."""
        if self.is_static:
            return []
        said = subprocess.run(["ldd", self.path], check=True, capture_output=True, text=True).stdout
        return sorted(Path(path) for path in re.findall(r"(/\S+) \(0x", said))

    def says(self, *arguments: str) -> bytes:
        """What it prints. It has to be one for this machine."""
        return subprocess.run([self.path, *arguments], check=True, stdout=subprocess.PIPE).stdout
