"""The bundle of a run: its record, its samples, how they are read, and SQL over all bundles.

bundle.py              The bundle: one run's folder
calibration_result.py  Calibration of a path before the transfer, as the record has it
check.py               A check: one figure against what was planned or wanted, judged once
datagram_result.py     Result of a flow of datagrams
evidence_chain.py      Evidence of a bundle: a chain of hashes over every file and what they were made from
facts.py               Facts of the machinery that made a run, a model for each world
flow_result.py         Result of one flow of a run, and the place of its files in the bundle
flow_rows.py           The view `flows` of queries: a row for each flow of each bundle
flow_totals.py         All flows of a run together
own_logs.py            Logs that programs write of their own connections: TLS keys and qlog
packed.py              A bundle as one file to send: a zip archive whose only folder is the bundle
packet_ring.py         Captures of a session: the kernel's ring of packets, as the guest wrote it
parquet_file.py        Parquet files of a bundle as Arrow tables: the one place where they are opened
query.py               Queries over all bundles of a folder: DuckDB in memory, the bundles read in place
record.py              The record of one run: `result.json` as a model
sample_columns.py      Raw samples
sample_tables.py       Tables of a bundle's samples, read once for all of its flows, and their parts
samples_reader.py      The time series of a bundle: the one reader of `samples.parquet` and `links.parquet`
series.py              Quantities over time: a series of one quantity, several streams together
signature.py           Signatures of a bundle's evidence by ssh keys, made and checked by ssh-keygen(1)
socket_columns.py      Raw samples of sockets: the sampler's CSV files
tool_result.py         Report of the tool that made a transfer: the engine, iperf3 or the simulator

calibration_result.py is short because the record and the flows in it need it, check.py because the guest makes checks
without a record.
"""
