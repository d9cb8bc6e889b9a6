"""Stored pipelines."""

import os
from typing import Any, Dict, Iterator, Optional, Union

from ..runs import Definition, PipelineVersion, StoredPipeline, body_of, text_of
from .calls import fields_of, quote
from .files import FileCalls


class PipelineCalls(FileCalls):
    """The calls of Client about stored pipelines."""

    def _pipeline_of(self, body: Dict[str, Any]) -> StoredPipeline:
        pipeline = fields_of(StoredPipeline, body)
        version = body.get("version")
        pipeline.newest = fields_of(PipelineVersion, version) if version else None
        pipeline._client = self._client()
        return pipeline

    def _pipeline_put(
        self,
        path: str,
        definition: Definition,
        description: Optional[str],
        filesystem: Optional[str],
        directory: Union[str, "os.PathLike[str]", None],
        package: Optional[str],
    ) -> StoredPipeline:
        body = body_of({"definition": text_of(definition), "description": description, "fs": filesystem})
        body.update(self._begin_in(directory, package))
        return self._pipeline_of(self._transport.json("POST", path, body, repeatable=False))

    def pipeline_create(
        self,
        definition: Definition,
        description: Optional[str] = None,
        filesystem: Optional[str] = None,
        *,
        directory: Union[str, "os.PathLike[str]", None] = None,
        package: Optional[str] = None,
    ) -> StoredPipeline:
        """Stores a definition (a text of at most 16 MiB, a dictionary, or a pathlib.Path) as version 1 of a pipeline of its name.

        `description` says what it is for (at most 256 bytes), `filesystem` is the main file system of its runs if the definition names
        none. The steps of all its runs begin in `directory` as it is now, or in `package`, as in run_create; it is kept as long as the
        version. Raises errors.Invalid with the first error of the definition, errors.Conflict if the user has a pipeline of this name,
        errors.Unavailable (code "quota") above 1,000 pipelines of a user or 64 MiB of all versions, ValueError for both `directory` and
        `package`, and for what a package cannot hold."""
        return self._pipeline_put("/v1/pipelines", definition, description, filesystem, directory, package)

    def pipeline_update(
        self,
        pipeline: str,
        definition: Definition,
        description: Optional[str] = None,
        filesystem: Optional[str] = None,
        *,
        directory: Union[str, "os.PathLike[str]", None] = None,
        package: Optional[str] = None,
    ) -> StoredPipeline:
        """Stores another version of a pipeline, by name or id; runs that have begun go on with their version. A `description` of None stays
        what it is; the directory of the version before does not. Raises what pipeline_create raises, errors.NotFound, and
        errors.Conflict if the definition has another name."""
        path = f"/v1/pipelines/{quote(pipeline)}/versions"
        return self._pipeline_put(path, definition, description, filesystem, directory, package)

    def pipeline(self, pipeline: str) -> StoredPipeline:
        """A stored pipeline, by name or id, with its newest version. Raises errors.NotFound."""
        return self._pipeline_of(self._transport.json("GET", f"/v1/pipelines/{quote(pipeline)}"))

    def pipelines(
        self, name: Optional[str] = None, user: Optional[str] = None, all_users: bool = False
    ) -> Iterator[StoredPipeline]:
        """Stored pipelines, oldest first, fetched page by page, each with its newest version. Only administrators may ask for another
        `user` or for all; others raise errors.Denied."""
        query = {"name": name, "user": user, "all": "true" if all_users else None}
        for item in self._pages("/v1/pipelines", query):
            yield self._pipeline_of(item)

    def pipeline_versions(self, pipeline: str) -> Iterator[PipelineVersion]:
        """The versions of a stored pipeline, by name or id, oldest first, without their texts. Raises errors.NotFound."""
        for item in self._pages(f"/v1/pipelines/{quote(pipeline)}/versions", {}):
            yield fields_of(PipelineVersion, item)

    def pipeline_version(self, pipeline: str, version: int) -> PipelineVersion:
        """A version of a stored pipeline, by name or id, with its `definition`. Raises errors.NotFound."""
        path = f"/v1/pipelines/{quote(pipeline)}/versions/{version}"
        return fields_of(PipelineVersion, self._transport.json("GET", path))

    def pipeline_delete(self, pipeline: str, version: Optional[int] = None) -> None:
        """Deletes a stored pipeline, by name or id, with all versions, or one of them; its runs stay. Raises errors.NotFound, errors.Conflict
        for the only version of a pipeline."""
        what = "" if version is None else f"/versions/{version}"
        self._transport.request("DELETE", f"/v1/pipelines/{quote(pipeline)}{what}", repeatable=False)
