"""Faults of sessions that are taken in, for stores/conformance/session_import.py."""

from __future__ import annotations

from dataclasses import replace

from stores.conformance import SessionImportContract as Contract
from stores.records import Segment
from tests.contracts.mutants.planting import BadSession, planted


@planted(Contract.test_s2_the_store_can_take_a_session_in)
class CannotTakeIn(BadSession):
    import_segments = None


@planted(Contract.test_s2_an_imported_session_is_the_session)
class ForgetsWhatWasCut(BadSession):
    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        await super().import_segments(session_id, [replace(segment, truncated=False) for segment in segments])


@planted(Contract.test_s3_an_imported_session_goes_on)
class ForgetsTheirChecksums(BadSession):
    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        await super().import_segments(session_id, segments)
        self._sessions[session_id].checksums = dict.fromkeys(self._sessions[session_id].checksums, "")


@planted(Contract.test_s2_an_import_is_over_no_session)
class ImportsOverWhatIsThere(BadSession):
    async def import_segments(self, session_id: str, segments: list[Segment]) -> None:
        await self.clear(session_id)
        await super().import_segments(session_id, segments)
