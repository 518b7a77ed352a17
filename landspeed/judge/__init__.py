"""Verdicts: what the figures of a bundle say, beside what was expected, and what limited the transfer.

ack_path.py            Lines that were full while the transfer ran: of the ACK path, where that is a limit
bbr_probing.py         BBR's own probing: what a run near a limit lost to its looks at the round trip
beside_goodput.py      A full line that carried less goodput than it allows: what else it carried
bound.py               Limit of a run: a limit of the plan that its goodput is at
calibration_checks.py  The checks of a calibration, made once for every world: what was planned
cause_words.py         Words for the cause of a run: what each state is told with
certainty.py           The mean of a combination over its seeds, and how certain it is
contest_rules.py       The contest's rules, one by one: met, not met, or not shown, with the evidence
datagram_limit.py      Limit of a flow of datagrams: what its sender was told to send
distance.py            Terrestrial distance of a path, leg by leg, from the positions of its places
fairness.py            Fairness of flows: Jain's index, in total and over time
judge.py               The judge: what the run is worth, whether it is what was expected, and what bound it
line_capacity.py       Capacity of a line over time: what it can send, with the events, traces
loaded_delay.py        Delay under load: the round trip of TCP and of echoes while the path was full
sample_evidence.py     Evidence from the samples of the judged span: the window that was full, its RTT
shared_limit.py        Limit of a flow beside others: a link that they fill together
steady.py              A transfer's end from its beginning: what was start, what is steady
window_note.py         Notes on the window beside the one cause of a run: the part that was not granted
attribution/           States of a flow over time: what kept it from sending more, interval by interval
sockets/               Samples of every socket of a guest, and what they say
"""
