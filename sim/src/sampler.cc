#include "sampler.h"

#include <cerrno>
#include <cstring>
#include <ns3/simulator.h>
#include <ns3/tcp-tx-buffer.h>
#include <stdexcept>

namespace landspeed
{

using ns3::NanoSeconds;
using ns3::Simulator;

namespace
{

constexpr char sample_header[] =
    "time_ns,stream,bytes,cwnd_packets,ssthresh_packets,srtt_us,rttvar_us,min_rtt_us,retransmits,"
    "lost_packets,in_flight_packets,state,delivery_rate_bps,pacing_rate_bps,busy_us,"
    "rwnd_limited_us,sndbuf_limited_us,rcv_space_bytes,snd_wnd_bytes,bytes_retransmitted,"
    "mss_bytes\n";
constexpr char link_header[] =
    "time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n";

} // namespace

Sampler::Sampler(const std::string &folder, const Plan &plan, const Path &path,
		 const Streams &streams)
    : plan_(plan), path_(path), streams_(streams), folder_(folder), sender_(folder + "/sender.csv"),
      receiver_(folder + "/receiver.csv"), links_(folder + "/links.csv")
{
	sender_ << sample_header;
	receiver_ << sample_header;
	links_ << link_header;
	check(sender_, "sender.csv");
	check(receiver_, "receiver.csv");
	check(links_, "links.csv");
}

void Sampler::begin()
{
	write_links(0);
	Simulator::Schedule(NanoSeconds(plan_.transfer.sample_interval_ns), &Sampler::tick, this);
}

void Sampler::tick()
{
	const int64_t time_ns = Simulator::Now().GetNanoSeconds() - streams_.start_ns();
	write_streams(time_ns);
	write_links(time_ns);
	Simulator::Schedule(NanoSeconds(plan_.transfer.sample_interval_ns), &Sampler::tick, this);
}

void Sampler::finish()
{
	if (streams_.start_ns() >= 0) {
		const int64_t time_ns = Simulator::Now().GetNanoSeconds() - streams_.start_ns();
		if (time_ns > last_ns_) {
			write_streams(time_ns);
			write_links(time_ns);
		}
	}
	sender_.close();
	receiver_.close();
	links_.close();
	check(sender_, "sender.csv");
	check(receiver_, "receiver.csv");
	check(links_, "links.csv");
}

/// What ns-3 cannot know is left empty, which is null in the parquet.
void Sampler::write_streams(int64_t time_ns)
{
	last_ns_ = time_ns;
	for (const auto &stream : streams_.all()) {
		const SocketView view = stream.sender->view();
		const uint64_t acked = stream.handed_bytes - stream.sender->GetTxBuffer()->Size();
		sender_ << time_ns << ',' << stream.index << ',' << acked << ','
			<< view.cwnd_packets << ',' << view.ssthresh_packets << ',' << view.srtt_us
			<< ',' << view.rttvar_us << ',' << view.min_rtt_us << ','
			<< view.retransmits << ',' << view.lost_packets << ','
			<< view.in_flight_packets << ',' << view.state << ",,"
			<< view.pacing_rate_bps << ",,,,," << view.snd_wnd_bytes << ','
			<< view.bytes_retransmitted << ',' << view.mss_bytes << '\n';
		receiver_ << time_ns << ',' << stream.index << ',' << stream.bytes
			  << ",,,,,,,,,,,,,,," << streams_.grant().receive_window_bytes << ",,,"
			  << view.mss_bytes << '\n';
	}
	check(sender_, "sender.csv");
	check(receiver_, "receiver.csv");
}

void Sampler::write_links(int64_t time_ns)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	for (const auto &info : path_.lanes) {
		if (info.config.link < 0)
			continue;
		const LaneCounters counters = info.lane->count(now_ns);
		links_ << time_ns << ',' << info.config.link << ',' << (info.config.forward ? 0 : 1)
		       << ',' << counters.bytes << ',' << counters.packets << ',' << counters.drops
		       << ',' << counters.backlog_bytes << ',' << counters.backlog_packets << ','
		       << counters.marks << '\n';
	}
	check(links_, "links.csv");
}

void Sampler::check(const std::ofstream &file, const char *name) const
{
	if (!file)
		throw std::runtime_error(folder_ + "/" + name +
					 ": cannot be written: " + std::strerror(errno));
}

} // namespace landspeed
