#pragma once

#include <ns3/tcp-recovery-ops.h>

#include <cstdint>

namespace landspeed
{

// Proportional Rate Reduction with the slow start reduction bound (RFC 6937), in 64 bits. ns-3's
// multiplies two 32-bit byte counts, which overflows when 4 GiB < delivered × ssthresh: at 10
// Gbit/s × 264 ms after the first segment. docs/ns3/03-prr.md.
class PrrRecovery : public ns3::TcpRecoveryOps
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	void EnterRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t dupAckCount,
			   uint32_t unAckDataCount, uint32_t deliveredBytes) override;
#ifdef NS3_TELLS_MORE
	void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes,
			bool isDupAck) override;
#else
	void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes) override;
#endif
	void ExitRecovery(ns3::Ptr<ns3::TcpSocketState> tcb) override;
	void UpdateBytesSent(uint32_t bytesSent) override;
	ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;

private:
	void recover(const ns3::Ptr<ns3::TcpSocketState> &tcb, uint32_t delivered_bytes);

	uint64_t delivered_ = 0;   // prr_delivered
	uint64_t sent_ = 0;        // prr_out
	uint64_t flight_size_ = 1; // RecoverFS
};

} // namespace landspeed
