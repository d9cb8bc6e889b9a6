"""The cache of steps."""

from typing import Any, Dict, Iterator, Optional

from ..runs import CacheEntry
from .calls import Calls, fields_of, query_of, quote


class CacheCalls(Calls):
    """The calls of Client about results that later runs may take."""

    def cache_entries(
        self,
        run: Optional[str] = None,
        *,
        filesystem: Optional[str] = None,
        user: Optional[str] = None,
        all_users: bool = False,
    ) -> Iterator[CacheEntry]:
        """Entries of the cache, oldest first, fetched page by page: of one run (id or name), or of the caller. `filesystem` is the main file
        system of their runs. Only administrators may ask for another `user` or for all; others raise errors.Denied. Raises
        errors.NotFound for a run that does not exist."""
        query = {
            "run": run,
            "filesystem": filesystem,
            "user": user,
            "all": "true" if all_users else None,
        }
        for item in self._pages("/v1/cache", query):
            yield fields_of(CacheEntry, item)

    def cache_entry(self, entry: str) -> CacheEntry:
        """One entry ("cch-000001"), with its `parts` and `outputs`. Raises errors.NotFound."""
        return fields_of(CacheEntry, self._transport.json("GET", f"/v1/cache/{quote(entry)}"))

    def cache_delete(self, entry: str) -> None:
        """Deletes an entry, so that its step runs again; what was reused from it stays. Raises errors.NotFound."""
        self._transport.request("DELETE", f"/v1/cache/{quote(entry)}", repeatable=False)

    def run_explain_cache(self, run_id: str, step: str) -> Dict[str, Any]:
        """Why a step ("train", "dag.train-3") of a run was reused from the cache, or ran: `result` is "reused", "kept" (a retry kept
        it), "ran" or "none" (it has not begun), `parts` what was the same as in the entry `compared` and what differs, `files` the
        first 20 files that differ between the directories of the two runs (doc/guide/rest.md). Raises errors.NotFound,
        errors.Invalid for a step that there is not."""
        path = f"/v1/runs/{quote(run_id)}/cache?{query_of({'step': step})}"
        explained: Dict[str, Any] = self._transport.json("GET", path)
        return explained
