"""The samples of a path's sockets, and what held its programs back."""

from __future__ import annotations

from landspeed.judge.sockets.direction import bound_by
from landspeed.judge.sockets.series import SocketSamples
from landspeed.judge.sockets.socket_limits import Bound
from landspeed.programs.errors import PathError
from landspeed.programs.live_path import LivePath
from landspeed.results.socket_columns import keep_samples
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.program_world import SocketSampling

SAMPLED = "sampled"  # folder of the sampler's own files


class SocketSampler:
    """Begins once, ends once; what was seen is read then."""

    def __init__(self, path: LivePath) -> None:
        """Prepare the sampling of a path; sample nothing yet."""
        self._path = path
        self._going = False
        self._begin_ns = 0
        self._ended_ns: int | None = None

    def begin(self, interval_ns: int, double_after: int) -> None:
        """See `Path.sample`."""
        sampling = SocketSampling(interval_ns=interval_ns, double_after=double_after, folder=SAMPLED)
        (self._path.folder / SAMPLED).mkdir(exist_ok=True)
        answer = self._path.ask("sample", sampler=self._path.session.sampler(sampling))
        self._path.session.start_unix_ns = int(answer["start_unix_ns"])
        self._begin_ns = int(answer["begin_ns"])
        self._going, self._ended_ns = True, None

    def end(self) -> SocketSamples:
        """See `Path.samples`."""
        if not self._going and self._ended_ns is None:
            raise PathError(
                'no samples of the sockets were taken; add samples="10 ms" to the path, or call path.sample()'
            )
        if self._going:
            self._going = False
            self._path.session.check_sampled(self._path.folder, self._path.ask("sampled"))
            self._ended_ns = self._path.session.now_ns
            names = [node.name for node in self._path.plan.nodes]
            keep_samples(self._path.folder / SAMPLED, self._path.folder, names)
        return SocketSamples(self._path.folder)

    @property
    def plan(self) -> Plan:
        """The path, with the events that were planned since it began; they count from the first sample."""
        return self._path.plan_since(self._begin_ns)

    @property
    def wanted(self) -> bool:
        """True if there are samples, or will be."""
        return self._going or self._ended_ns is not None

    def bound_by(self, which: str | tuple[str, str]) -> Bound:
        """See `Path.bound_by`; a node stands for the direction between it and another one in which most was sent."""
        if self._ended_ns is not None and self._path.session.now_ns > self._ended_ns + 10**9:
            raise PathError("time has passed since the sampling ended: ask for bound_by and samples last")
        samples = self.end()
        if isinstance(which, str):
            others = [each.name for each in self._path.plan.nodes if each.kind == "host" and each.name != which]
            ways = [pair for other in others for pair in ((which, other), (other, which))]
            which = max(ways, key=lambda pair: sum(each.bytes for each in samples.between(*pair)))
        source, target = which
        return bound_by(samples, self.plan, source, target)
