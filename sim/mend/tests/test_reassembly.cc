// The receiver's reassembly, and unmended ns3::TcpRxBuffer, which has the same interface.

#include "mend/tests/check.h"

#include <ns3/packet.h>
#ifdef LANDSPEED_MENDED
#include "mend/reassembly.h"
#else
#include <ns3/tcp-rx-buffer.h>
#endif

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

using namespace ns3;

namespace
{

#ifdef LANDSPEED_MENDED
using Buffer = landspeed::Reassembly;
#else
using Buffer = TcpRxBuffer;
#endif

constexpr uint32_t MSS = 1000;

class Receiver
{
public:
	Receiver()
	{
		buffer = CreateObject<Buffer>();
		buffer->SetMaxBufferSize(UINT32_MAX / 4);
	}

	bool Arrive(uint32_t from, uint32_t to)
	{
		TcpHeader header;
		header.SetSequenceNumber(SequenceNumber32(from));
		return buffer->Add(Create<Packet>(to - from), header);
	}

	bool ArriveSegment(uint32_t segment)
	{
		return Arrive(segment * MSS, (segment + 1) * MSS);
	}

	Ptr<Buffer> buffer;
};

// What becomes readable when a hole is filled comes as it was stored; ns-3 joins it, up to a whole
// window.
void Pieces()
{
	Receiver receiver;
	for (uint32_t segment = 1; segment < 100; ++segment)
		receiver.ArriveSegment(segment);
	receiver.ArriveSegment(0);
	CheckEqual("readable", receiver.buffer->Available(), 100 * MSS);
	CheckEqual("first piece", receiver.buffer->Extract(UINT32_MAX)->GetSize(), MSS);
	CheckEqual("a part of the next", receiver.buffer->Extract(1)->GetSize(), 1);
	CheckEqual("its rest", receiver.buffer->Extract(UINT32_MAX)->GetSize(), MSS - 1);
	CheckEqual("left", receiver.buffer->Size(), 98 * MSS);
}

// The first block is the whole contiguous one (RFC 2018 section 4 a), also if part of it is no
// longer in the list.
void WholeBlock()
{
	Receiver receiver;
	for (uint32_t segment : {2, 4, 6, 8, 10})
		receiver.ArriveSegment(segment);
	receiver.ArriveSegment(3); // between 2, which has left the list of four, and 4
	auto block = receiver.buffer->GetSackList().front();
	CheckEqual("first block begins", block.first.GetValue(), 2 * MSS);
	CheckEqual("first block ends", block.second.GetValue(), 5 * MSS);
}

// Any order, overlaps, duplicates: every byte once, in order, and blocks that say what is there.
void RandomOrder()
{
	std::mt19937 random(2018);
	for (int round = 0; round < 200; ++round) {
		constexpr uint32_t total = 4000;
		Receiver receiver;
		std::vector<bool> here(total);
		for (int step = 0; step < 400; ++step) {
			uint32_t from = random() % total;
			uint32_t to =
			    std::min(total, from + 1 + static_cast<uint32_t>(random() % 300));
			receiver.Arrive(from, to);
			// As documented: the new bytes up to the next that are here are taken.
			uint32_t next = static_cast<uint32_t>(
			    std::find(here.begin(), here.end(), false) - here.begin());
			uint32_t at = std::max(from, next);
			while (at < to && here[at])
				++at;
			for (; at < to && !here[at]; ++at)
				here[at] = true;
			next = static_cast<uint32_t>(std::find(here.begin(), here.end(), false) -
						     here.begin());
			if (receiver.buffer->NextRxSequence().GetValue() != next)
				CheckEqual("next expected",
					   receiver.buffer->NextRxSequence().GetValue(), next);
			for (const auto &block : receiver.buffer->GetSackList()) {
				uint32_t first = block.first.GetValue();
				uint32_t last = block.second.GetValue();
				bool whole = std::all_of(here.begin() + first, here.begin() + last,
							 [](bool is) { return is; }) &&
					     !here[first - 1] && (last == total || !here[last]);
				if (!whole)
					CheckEqual("block is whole", first, last);
			}
		}
		uint32_t read = 0;
		while (Ptr<Packet> piece = receiver.buffer->Extract(random() % 100 + 1))
			read += piece->GetSize();
		if (read != receiver.buffer->NextRxSequence().GetValue())
			CheckEqual("read", read, receiver.buffer->NextRxSequence().GetValue());
	}
	CheckEqual("rounds", 200, 200);
}

double CostPerSegment(uint32_t window)
{
	double start = ProcessorSeconds();
	uint32_t rounds = 8'000 / window;
	for (uint32_t round = 0; round < rounds; ++round) {
		Receiver receiver;
		for (uint32_t segment = 1; segment < window; ++segment)
			receiver.ArriveSegment(segment);
		receiver.ArriveSegment(0);
		while (receiver.buffer->Extract(MSS))
			;
	}
	return (ProcessorSeconds() - start) / (rounds * window);
}

void Cost()
{
	double small = CostPerSegment(200);
	double large = CostPerSegment(4'000);
	CheckAtMost("cost of a segment behind a hole 20 times as large", large / small, 4);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv,
		       {{"pieces", Pieces},
			{"whole-block", WholeBlock},
			{"random-order", RandomOrder},
			{"cost", Cost}});
}
