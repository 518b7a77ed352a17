// Every TCP and UDP socket of some namespaces, as the kernel's inet_diag(7) tells of it: rows of
// two CSVs.
#pragma once

#include <stdint.h>
#include <stdio.h>

// A row for each socket and sample. Sockets are numbered from 0 as they are first seen. What is
// TCP's own is empty for UDP. tcp_state: 1 established … 7 closed (linux/tcp_states.h); the row of
// 7 is the socket's last, and tells its final counts. bytes_acked counts the SYN, too.
#define SOCKETS_HEADER                                                                             \
	"time_ns,socket,tcp_state,rqueue_bytes,wqueue_bytes,rmem_bytes,rcvbuf_bytes,wmem_bytes,"   \
	"sndbuf_bytes,drops,cwnd_packets,ssthresh_packets,srtt_us,rttvar_us,min_rtt_us,"           \
	"retransmits,lost_packets,in_flight_packets,ca_state,delivery_rate_bps,pacing_rate_bps,"   \
	"app_limited,busy_us,rwnd_limited_us,sndbuf_limited_us,rcv_space_bytes,snd_wnd_bytes,"     \
	"mss_bytes,bytes_sent,bytes_acked,bytes_received,bytes_retransmitted,notsent_bytes,"       \
	"data_segs_out,data_segs_in\n"

// A row for each socket. node: number of its namespace, in the order in which they were added;
// protocol: 6 TCP, 17 UDP; pid, program: empty where nobody was found to hold it.
#define OWNERS_HEADER "socket,node,protocol,local,local_port,remote,remote_port,pid,program\n"

// Another namespace, by its path.
void sockets_add(const char *netns);

// Asks each namespace once and writes a row for each of its sockets.
void sockets_write(FILE *rows, FILE *owners, uint64_t time_ns);

// Rows of owners for those that nobody was found to hold.
void sockets_finish(FILE *owners);
