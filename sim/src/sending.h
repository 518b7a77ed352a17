// What a flow sends, of TCP or of datagrams: what the rest of the simulator asks of either.
#pragma once

#include "plan/plan.h"

#include <cstdint>
#include <functional>
#include <string>

namespace landspeed
{

class Sending
{
public:
	Sending() = default;
	Sending(const Sending &) = delete;
	Sending &operator=(const Sending &) = delete;
	virtual ~Sending() = default;

	/// Called when it could send for the first time, when all that is wanted has come, and with
	/// the reason when it cannot go on.
	std::function<void()> started, delivered;
	std::function<void(const std::string &why)> failed;

	/// Nothing is sent or read any more.
	virtual void end() = 0;
	/// It calls `delivered` itself where a time ends it; else it is ended at that time.
	[[nodiscard]] virtual bool ends_itself() const = 0;
	[[nodiscard]] virtual const Flow &flow() const = 0;
	/// When sending began, in simulated time; -1: it has not.
	[[nodiscard]] virtual int64_t start_ns() const = 0;
	/// Read by the receiver.
	[[nodiscard]] virtual uint64_t bytes() const = 0;
	/// Packets that came with a wrong checksum.
	[[nodiscard]] virtual uint64_t corrupted() const = 0;
};

} // namespace landspeed
