"""Container images as files: the layout of the OCI, with Docker's own manifest beside it, as `docker save` writes them."""

import hashlib
import json

from tarball import Tarball

# An image does not tell when it was made: the same content gives the same bytes.
CREATED = "1970-01-01T00:00:00Z"
OCI = "application/vnd.oci.image"


def as_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Image:
    """One image: its layers from the lowest to the highest, what a container of it runs, and its tags."""

    def __init__(self, architecture: str, config: dict, layers: list[Tarball], tags: list[str]) -> None:
        self._blobs: dict[str, bytes] = {}
        self._tags = tags
        self._platform = {"architecture": architecture, "os": "linux"}
        self._layers = [self._blob(f"{OCI}.layer.v1.tar", layer.bytes()) for layer in layers]
        # No layer is compressed: the digest of each is that of its content.
        content = {"type": "layers", "diff_ids": [layer["digest"] for layer in self._layers]}
        history = [{"created": CREATED, "created_by": "packaging/build image"} for _ in layers]
        described = {**self._platform, "created": CREATED, "config": config, "rootfs": content, "history": history}
        self._config = self._blob(f"{OCI}.config.v1+json", as_json(described))

    def _blob(self, media_type: str, data: bytes) -> dict:
        """Keeps it under its digest; its descriptor."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        descriptor = {"mediaType": media_type, "digest": digest, "size": len(data)}
        self._blobs[place(descriptor)] = data
        return descriptor

    def bytes(self) -> bytes:
        """The archive, which `docker load`, `podman load` and `skopeo` read."""
        media_type = f"{OCI}.manifest.v1+json"
        manifest = {
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": self._config,
            "layers": self._layers,
        }
        described = {**self._blob(media_type, as_json(manifest)), "platform": self._platform}
        index = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.index.v1+json",
            "manifests": [{**described, "annotations": names(tag)} for tag in self._tags],
        }
        docker = {
            "Config": place(self._config),
            "RepoTags": self._tags,
            "Layers": [place(layer) for layer in self._layers],
        }
        archive = Tarball()
        for name, data in self._blobs.items():
            archive.file(name, data)
        archive.file("oci-layout", as_json({"imageLayoutVersion": "1.0.0"}))
        archive.file("index.json", as_json(index))
        archive.file("manifest.json", as_json([docker]))
        return archive.bytes()


def place(descriptor: dict) -> str:
    """Where an archive has a blob."""
    return "blobs/" + descriptor["digest"].replace(":", "/")


def names(tag: str) -> dict:
    """How an index calls the image of a tag."""
    return {
        "io.containerd.image.name": f"docker.io/library/{tag}",
        "org.opencontainers.image.ref.name": tag.rpartition(":")[2],
    }
