"""Images made from the embedded services' own binaries, for machines that cannot pull from a registry."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import docker.errors

from bench.infra.binary import sha256_of

LABEL = "jetlag.binary"


def build_scratch_image(client: Any, tag: str, binary: Path) -> None:
    """One static binary in an otherwise empty image, unless `tag` holds that very binary already.

    `client` is the Docker SDK's; its build goes through the classic builder, which needs no BuildKit image.
    """
    digest = sha256_of(binary)
    try:
        if client.images.get(tag).labels.get(LABEL) == digest:
            return
    except docker.errors.ImageNotFound:
        pass
    with io.BytesIO() as context:
        _write_context(context, binary, digest)
        context.seek(0)
        client.images.build(fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True)


def _write_context(target: io.BytesIO, binary: Path, digest: str) -> None:
    name = binary.name
    dockerfile = "\n".join(
        [
            "FROM scratch",
            f"LABEL {LABEL}={digest}",
            f"COPY {name} /{name}",
            "COPY empty /tmp",  # TiDB wants a temp folder, and an empty image has none
            f'ENTRYPOINT ["/{name}"]',
        ]
    ).encode()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.add(binary.resolve(), arcname=name)
        folder = tarfile.TarInfo("empty")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(folder)
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
