"""Delay, rate, loss and queues of each direction of a link, by qdiscs.

direction.py             A direction of a link whose qdiscs change while packets are in them
direction_options.py     The options of a direction's netem and token bucket, as figures: pure
discipline_options.py    The parameters of a direction's discipline as the options of its qdisc
encode_aqm.py            Disciplines that manage a queue, as bytes; encode_qdisc.py has those of every kind
encode_netem.py          Options of netem for a direction: from the plan
encode_qdisc.py          Options of each queueing discipline as bytes, in the layouts of linux/pkt_sched.h
interrupt_moderation.py  Interrupt moderation of busy links, during a transfer of single packets in virtual time
joined.py                Links at which nothing can queue, passed in one step
kept_spacing.py          Packets keep their spacing while a rate is measured: what moves them rests until then
link_qdiscs.py           Rates, queues, delays and impairments of the plan as qdiscs, on routers
lose_next.py             Losing exactly the next N packets with netem, which knows only chance
packet_limit.py          netem's limit in packets: of what is under way on a link and of what waits
periodic.py              Losses by count: every N-th packet that enters a link
traces.py                The plan's traces, step by step, while the transfer runs

interrupt_moderation.py is short because few guests import it; packet_limit.py because it is one figure and its reason.
"""
