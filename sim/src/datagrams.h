// A flow of datagrams: a sender that heeds nobody, and what became of what it sent.
#pragma once

#include "network.h"
#include "sending.h"

#include <vector>

namespace landspeed
{

/// Sends at the plan's rate, each at its time, and counts as the engine does (engine/src/probe/).
class Datagrams : public Sending
{
public:
	Datagrams(const Plan &plan, const Flow &flow, const Network::Ends &ends);

	void end() override;
	[[nodiscard]] bool ends_itself() const override
	{
		return true;
	}
	[[nodiscard]] const Flow &flow() const override
	{
		return flow_;
	}
	[[nodiscard]] int64_t start_ns() const override
	{
		return start_ns_;
	}
	[[nodiscard]] uint64_t bytes() const override
	{
		return received_ * payload_bytes_;
	}
	[[nodiscard]] uint64_t corrupted() const override
	{
		return ends_.receiver.device->corrupted();
	}

	[[nodiscard]] uint32_t payload_bytes() const
	{
		return payload_bytes_;
	}
	[[nodiscard]] uint64_t sent() const
	{
		return sent_;
	}
	/// Each once.
	[[nodiscard]] uint64_t received() const
	{
		return received_;
	}
	/// Came after one that was sent later (RFC 4737).
	[[nodiscard]] uint64_t reordered() const
	{
		return reordered_;
	}
	[[nodiscard]] uint64_t duplicates() const
	{
		return duplicates_;
	}
	/// RFC 3550, appendix A.8.
	[[nodiscard]] double jitter_ns() const
	{
		return jitter_ns_;
	}
	/// The mean that it estimates, over all.
	[[nodiscard]] double jitter_mean_ns() const;
	/// Of all that came, sorted.
	[[nodiscard]] std::vector<int64_t> delays_ns() const;
	/// Time of sending: each has its part of it.
	[[nodiscard]] int64_t duration_ns() const;
	/// From the first arrival to the last.
	[[nodiscard]] int64_t span_ns() const
	{
		return last_ns_ - first_ns_;
	}

private:
	[[nodiscard]] int64_t step_ns(uint64_t number) const;
	[[nodiscard]] int64_t due_ns(uint64_t number) const;
	void begin();
	void send();
	void came(uint64_t number, int64_t sent_ns);
	void look(int64_t until_ns);

	const Flow &flow_;
	const Network::Ends &ends_;
	uint32_t payload_bytes_;
	uint64_t rate_bps_;              ///< of payload
	uint64_t together_ = UINT64_MAX; ///< datagrams between two rests
	int64_t one_way_ns_ = 0;
	int64_t start_ns_ = -1, first_ns_ = 0, last_ns_ = 0, transit_ns_ = 0;
	uint64_t sent_ = 0, received_ = 0, reordered_ = 0, duplicates_ = 0, next_ = 0;
	double jitter_ns_ = 0, changes_ns_ = 0;
	std::vector<bool> seen_;
	std::vector<int64_t> delays_ns_;
	bool ended_ = false;
};

} // namespace landspeed
