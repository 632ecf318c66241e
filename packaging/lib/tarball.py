"""Tar archives that depend on nothing but what is put into them: the same content gives the same bytes."""

import gzip
import io
import tarfile

DIRECTORY, LINK = tarfile.DIRTYPE, tarfile.SYMTYPE


class Tarball:
    """A tar archive. Its entries are sorted; none has a time or a name of an owner."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        self._add(name, tarfile.REGTYPE, mode, data=data)

    def directory(self, name: str, mode: int = 0o755, owner: int = 0) -> None:
        self._add(name, DIRECTORY, mode, owner=owner)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self._add(name, LINK, 0o777, target=target)

    def _add(
        self, name: str, kind: bytes, mode: int, data: bytes = b"", target: str = "", owner: int = 0
    ) -> None:
        parent = name.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.directory(parent)
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), target
        entry.uid = entry.gid = owner
        self._entries[name] = (entry, data)

    def bytes(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for _, (entry, data) in sorted(self._entries.items()):
                archive.addfile(entry, io.BytesIO(data))
        return out.getvalue()

    def gzipped(self) -> bytes:
        out = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as stream:
            stream.write(self.bytes())
        return out.getvalue()
