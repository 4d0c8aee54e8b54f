"""Errands for robots.txt: to a host itself, or to the one that a redirect names.

A host whose robots.txt is elsewhere runs no request of its own until it is there. The
other host runs the errand in its own turn, with its own gap, before its own queue. If it
belongs to another slot, that slot knows nothing of it: here, too, it has one connection
and its gap, and its robots.txt is asked for once, whoever was sent there.
"""

from __future__ import annotations

from transforms.exchange import Errand
from transforms.pace import is_unanswered
from transforms.robots_gate import WAIT, Decision, RobotsGate
from transforms.scheduler import Host, Scheduler
from transforms.slot_hosts import SlotHosts
from transforms.strikes import Strikes
from transforms.transport import ADDRESS, BAD_URL, TLS, Response
from transforms.urls import host_of, origin_of


class RobotsErrands:
    def __init__(
        self,
        gate: RobotsGate,
        scheduler: Scheduler,
        hosts: SlotHosts,
        strikes: Strikes,
        patience: float,
    ) -> None:
        """`patience`: seconds; a host that may only be asked later runs no errand."""
        self.gate = gate
        self.scheduler = scheduler
        self.hosts = hosts
        self.strikes = strikes
        self.patience = patience
        self.dead: dict[str, Response] = {}  # origins given up while their host answers

    def send(self, host: Host, decision: Decision, now: float) -> Errand | Decision | None:
        """What a host is to do for a robots.txt: run the errand, or wait; None: another runs it.

        In that case the host stays busy until it is done: it has nothing else that may be
        asked. No circle of hosts waits for itself: a host runs the errands of others first,
        so whoever sends one of its own has none left to run.
        """
        errand = Errand(host, decision.origin, decision.url, decision.headers)
        asked = self.hosts.enter(host_of(errand.url))
        if asked is host:
            return errand
        if asked.ready_at > now + self.patience:
            reason = f"its robots.txt is at {asked.name}, which is being left alone"
            return decision._replace(word=WAIT, until=asked.ready_at, reason=reason)
        self.scheduler.hold(host)
        self.scheduler.add_errand(asked, errand)
        return None

    def next(self, asked: Host, now: float) -> Errand | None:
        """The next errand for another host that is still to be run."""
        while asked.errands:
            errand: Errand = asked.errands.popleft()
            if not self.gate.knows(errand.url, now):
                return errand
            self._return(errand)
        return None

    def end(self, asked: Host, errand: Errand, response: Response) -> bool:
        """Take a robots.txt, or note that there was none to be had.

        Returns whether the page that it was asked for fares alike, and is not to be asked.
        """
        ended_at = response.started + response.elapsed
        self.hosts.exchanged_robots(asked, response, ended_at)
        if errand.host is asked and self._is_hopeless(errand, response):
            return True
        self._take(errand, response, ended_at, asked)
        if errand.host is asked:
            if is_unanswered(response):
                asked.queue.rotate(-1)  # another origin may answer: it is next
        else:
            self._return(errand)
        return False

    def hand_back(self, asked: Host, response: Response, now: float) -> None:
        """Errands that a host can not run any more end as the exchange that closed it."""
        while asked.errands:
            errand: Errand = asked.errands.popleft()
            self.gate.answer(errand.origin, response, now, asked.ready_at)
            self.hosts.learn_robots(errand.host, now)
            self._return(errand)

    def _take(self, errand: Errand, response: Response, now: float, asked: Host) -> None:
        self.gate.answer(errand.origin, response, now, asked.ready_at)
        self.hosts.learn_robots(errand.host, now)
        # The robots.txt of one site is often another's too: http and https, with and without www.
        own = origin_of(errand.url)
        if own == errand.origin or response.status in (0, 304):
            return
        if self.gate.is_asking(own, errand.url, now):
            self.gate.answer(own, response, now, asked.ready_at)
            self.hosts.learn_robots(asked, now)

    def _return(self, errand: Errand) -> None:
        self.scheduler.release(errand.host, errand.host.ready_at)

    def _is_hopeless(self, errand: Errand, response: Response) -> bool:
        """Whether no server is there whose robots.txt could be obeyed."""
        if response.failure in (ADDRESS, TLS, BAD_URL):
            return True
        # An origin may not answer while its host does, on another port.
        if is_unanswered(response) and self.strikes.strike(
            errand.origin, errand.host, is_host_suspect=True
        ):
            self.dead[errand.origin] = response
            return True
        return False
