// The sender's scoreboard, and unmended ns3::TcpTxBuffer, which has the same interface: RFC 6675
// and RFC 2018.

#include "mend/tests/check.h"

#include <ns3/packet.h>
#include <ns3/simulator.h>
#ifdef LANDSPEED_MENDED
#include "mend/send_buffer.h"
#else
#include <ns3/tcp-tx-buffer.h>
#endif

#include <algorithm>
#include <random>
#include <vector>

using namespace ns3;

namespace
{

#ifdef LANDSPEED_MENDED
using Buffer = landspeed::SendBuffer;
#else
using Buffer = TcpTxBuffer;
#endif

constexpr uint32_t MSS = 1000;

// A buffer with `segments` of data, of which `sent` have been sent.
class Sender
{
public:
	explicit Sender(uint32_t segments, uint32_t sent, uint32_t window_bytes = UINT32_MAX)
	    : window_(window_bytes)
	{
		buffer = CreateObject<Buffer>(1);
		buffer->SetMaxBufferSize(UINT32_MAX);
		buffer->SetSegmentSize(MSS);
		buffer->SetDupAckThresh(3);
		buffer->SetRWndCallback(MakeCallback(&Sender::Window, this));
		for (uint32_t count = 0; count < segments; ++count)
			buffer->Add(Create<Packet>(MSS));
		for (uint32_t count = 0; count < sent; ++count)
			SendNext(false);
	}

	static SequenceNumber32 Start(uint32_t segment)
	{
		return SequenceNumber32(1 + segment * MSS);
	}

	// The segment that NextSeg names, sent; -1: none.
	int SendNext(bool recovery)
	{
		SequenceNumber32 from, to;
		if (!buffer->NextSeg(&from, &to, recovery))
			return -1;
		auto size = static_cast<uint32_t>(to - from);
		if (size == 0 || buffer->CopyFromSequence(std::min(size, MSS), from) == nullptr)
			return -2; // told to send nothing
		return static_cast<int>((from - Start(0)) / static_cast<int32_t>(MSS));
	}

	uint32_t Sack(uint32_t from, uint32_t to)
	{
		return buffer->Update({{Start(from), Start(to)}});
	}

	Ptr<Buffer> buffer;

private:
	uint32_t Window()
	{
		return window_;
	}

	uint32_t window_;
};

// ns-3 3.37 says that a segment of no bytes is to be sent when the window is exactly full; the
// socket then takes the segment that is not there.
void WindowExactlyFull()
{
	Sender sender(20, 10, 10 * MSS);
	CheckEqual("segment to send into a full window", sender.SendNext(false), -1);
}

// Less room than a segment: no small one is sent (RFC 1122 section 4.2.3.4).
void NoTinySegment()
{
	Sender sender(20, 10, 10 * MSS + 1);
	CheckEqual("segment to send into one byte of window", sender.SendNext(false), -1);
	Sender alone(20, 0, 1);
	CheckEqual("with nothing under way it is used", alone.SendNext(false), 0);
	CheckEqual("bytes in flight", alone.buffer->BytesInFlight(), 1);
}

void LossAndRepair()
{
	Sender sender(20, 10);
	sender.Sack(1, 3);
	CheckEqual("lost, two segments above", sender.buffer->GetLost(), 0);
	sender.Sack(1, 4);
	CheckEqual("lost, three segments above", sender.buffer->GetLost(), MSS);
	CheckEqual("in flight", sender.buffer->BytesInFlight(), 6 * MSS);
	CheckEqual("head is lost", sender.buffer->IsLost(Sender::Start(0)), 1);
	CheckEqual("last byte of it too", sender.buffer->IsLost(Sender::Start(1) - 1), 1);
	CheckEqual("the next is not", sender.buffer->IsLost(Sender::Start(1)), 0);
	CheckEqual("rule 1: the lost one", sender.SendNext(true), 0);
	CheckEqual("in flight, repaired", sender.buffer->BytesInFlight(), 7 * MSS);
	CheckEqual("rule 2: new data", sender.SendNext(true), 10);
	sender.Sack(5, 10);
	CheckEqual("lost, another hole", sender.buffer->GetLost(), 2 * MSS);
	CheckEqual("rule 1 again", sender.SendNext(true), 4);
	sender.buffer->DiscardUpTo(Sender::Start(10));
	CheckEqual("in flight, all repaired", sender.buffer->BytesInFlight(), MSS);
	CheckEqual("none lost", sender.buffer->GetLost(), 0);
	CheckEqual("none sacked", sender.buffer->GetSacked(), 0);
}

// A segment that was sent again and has arrived is no longer in the network (RFC 6675, SetPipe).
// ns-3 3.37 counts it.
void RepairedIsNotInFlight()
{
	Sender sender(20, 10);
	sender.Sack(1, 2);
	sender.Sack(3, 4);
	sender.Sack(5, 9);
	for (int lost : {0, 2, 4})
		CheckEqual("repaired", sender.SendNext(true), lost);
	sender.buffer->DiscardUpTo(Sender::Start(2)); // the first repair has arrived
	sender.Sack(3, 9);                            // the third too, so that the second is lost
	CheckEqual("in flight", sender.buffer->BytesInFlight(), MSS);
}

// A repair is lost if something sent after it has arrived (RFC 8985). ns-3 3.37 waits for the
// timeout.
void LostAgain()
{
	Sender sender(40, 10);
	sender.Sack(1, 9); // 0 is lost
	CheckEqual("repaired", sender.SendNext(true), 0);
	CheckEqual("then new data", sender.SendNext(true), 10);
	sender.Sack(9, 10);
	CheckEqual("sent before the repair: it may be on its way", sender.SendNext(true), 11);
	CheckEqual("in flight", sender.buffer->BytesInFlight(), 3 * MSS);
	sender.Sack(10, 11);
	CheckEqual("in flight, the repair is lost", sender.buffer->BytesInFlight(), MSS);
	CheckEqual("repaired again", sender.SendNext(true), 0);
	CheckEqual("once", sender.SendNext(true), 12);
	sender.Sack(11, 12);
	CheckEqual("sent before the second repair", sender.SendNext(true), 13);
	sender.Sack(12, 13);
	CheckEqual("and a third time", sender.SendNext(true), 0);
	sender.buffer->DiscardUpTo(Sender::Start(13));
	CheckEqual("in flight at the end", sender.buffer->BytesInFlight(), MSS);
	CheckEqual("none lost", sender.buffer->GetLost(), 0);
}

// Where packets overtake each other, a repair is given a quarter of the shortest round trip more.
void ReorderingWindow()
{
	auto wait = [](double seconds) {
		Simulator::Stop(Seconds(seconds));
		Simulator::Run();
	};
	Sender sender(40, 10);
	wait(0.1);
	sender.Sack(1, 2);
	sender.buffer->DiscardUpTo(Sender::Start(2)); // 0 came after 1
	sender.Sack(3, 10);                           // 2 is lost
	CheckEqual("repaired", sender.SendNext(true), 2);
	CheckEqual("new data at once", sender.SendNext(true), 10);
	wait(0.02);
	CheckEqual("20 ms later", sender.SendNext(true), 11);
	wait(0.01);
	CheckEqual("30 ms later", sender.SendNext(true), 12);
	wait(0.07);
	sender.Sack(10, 11);
	CheckEqual("it may have been overtaken", sender.SendNext(true), 13);
	wait(0.02);
	sender.Sack(11, 12);
	CheckEqual("still, by less than 25 ms", sender.SendNext(true), 14);
	wait(0.01);
	sender.Sack(12, 13);
	CheckEqual("too late", sender.SendNext(true), 2);
	Simulator::Destroy();
}

// Rule 3 takes what is below the highest SACK, and only that (condition 1.b). ns-3 3.37 takes
// anything unsacked.
void RuleThree()
{
	Sender sender(10, 10);
	sender.Sack(1, 2);
	sender.Sack(3, 4);
	CheckEqual("rule 3: not lost yet, below the SACK", sender.SendNext(true), 0);
	CheckEqual("rule 3: the next one", sender.SendNext(true), 2);
	CheckEqual("above the SACK: none", sender.SendNext(true), -1);
}

void Timeout()
{
	Sender sender(20, 10);
	sender.Sack(4, 6);
	sender.buffer->SetSentListLost();
	CheckEqual("in flight after a timeout", sender.buffer->BytesInFlight(), 0);
	for (int segment : {0, 1, 2, 3, 6, 7, 8, 9, 10})
		CheckEqual("sent again", sender.SendNext(false), segment);
}

// Against a model that walks everything, by the letter of RFC 6675 section 4.
void RandomAgainstModel()
{
	struct State {
		bool sacked = false, sent_again = false;
		uint32_t sent = 0; // when: what is sent is counted
	};
	std::mt19937 random(6675);
	for (int round = 0; round < 200; ++round) {
		uint32_t total = 60;
		Sender sender(total, 0);
		std::vector<State> model;
		uint32_t first = 0;
		uint32_t transmissions = 0;
		uint32_t arrived = 0; // the last one sent of those that have
		auto lost = [&](uint32_t segment) {
			uint32_t above = 0;
			for (uint32_t other = segment; other < model.size(); ++other)
				above += model[other].sacked;
			return !model[segment].sacked && above >= 3;
		};
		for (int step = 0; step < 150; ++step) {
			uint32_t action = random() % 10;
			uint32_t sent = static_cast<uint32_t>(model.size());
			if (action < 5) {
				int expected = sent < total ? static_cast<int>(sent) : -1;
				for (uint32_t segment = sent; segment-- > first;)
					if (lost(segment) && !model[segment].sent_again)
						expected = static_cast<int>(segment);
				int is = sender.SendNext(false);
				if (is != expected)
					CheckEqual("NextSeg", is, expected);
				if (is >= 0 && static_cast<uint32_t>(is) == sent)
					model.emplace_back();
				else if (is >= 0)
					model[static_cast<uint32_t>(is)].sent_again = true;
				if (is >= 0)
					model[static_cast<uint32_t>(is)].sent = ++transmissions;
			} else if (action < 9 && sent > first + 1) {
				uint32_t from = first + 1 + random() % (sent - first - 1);
				uint32_t to = from + 1 + random() % std::min(4U, sent - from);
				to = std::min(to, sent);
				sender.Sack(from, to);
				for (uint32_t segment = from; segment < to; ++segment) {
					if (!model[segment].sacked)
						arrived = std::max(arrived, model[segment].sent);
					model[segment].sacked = true;
				}
			} else if (sent > first) {
				arrived = std::max(arrived, model[first].sent);
				++first;
				while (first < sent && model[first].sacked)
					++first;
				for (uint32_t segment = 0; segment < first; ++segment)
					model[segment] = {};
				sender.buffer->DiscardUpTo(Sender::Start(first));
			}
			// RFC 8985: a repair is lost if something sent later has arrived.
			for (State &state : model)
				state.sent_again &= state.sent > arrived;
			uint32_t pipe = 0;
			for (uint32_t segment = first; segment < model.size(); ++segment)
				if (!model[segment].sacked)
					pipe += !lost(segment) + model[segment].sent_again;
			if (sender.buffer->BytesInFlight() != pipe * MSS)
				CheckEqual("pipe", sender.buffer->BytesInFlight() / MSS, pipe);
		}
	}
	CheckEqual("rounds", 200, 200);
}

// Processor time to send a window, lose its first segment and each tenth of the rest, and repair
// them: per segment.
double CostPerSegment(uint32_t window)
{
	double start = ProcessorSeconds();
	uint32_t rounds = 16'000 / window;
	for (uint32_t round = 0; round < rounds; ++round) {
		Sender sender(2 * window, window);
		for (uint32_t segment = 1; segment < window; ++segment) {
			uint32_t hole = segment / 10 * 10;
			if (segment != hole)
				sender.Sack(hole + 1, segment + 1);
			sender.SendNext(true);
			sender.buffer->IsRetransmittedDataAcked(Sender::Start(segment));
		}
	}
	return (ProcessorSeconds() - start) / (rounds * window);
}

void Cost()
{
	double small = CostPerSegment(200);
	double large = CostPerSegment(3'200);
	CheckAtMost("cost of a segment in a window 16 times as large", large / small, 4);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv,
		       {{"window-exactly-full", WindowExactlyFull},
			{"no-tiny-segment", NoTinySegment},
			{"loss-and-repair", LossAndRepair},
			{"repaired-is-not-in-flight", RepairedIsNotInFlight},
			{"lost-again", LostAgain},
			{"reordering-window", ReorderingWindow},
			{"rule-three", RuleThree},
			{"timeout", Timeout},
			{"random-against-model", RandomAgainstModel},
			{"cost", Cost}});
}
