#include "ns3/core-module.h"
// NodeContainer commented; p2p.Install (x);
using namespace ns3;
int
main (int argc, char *argv[])
{
  CommandLine cmd;
  cmd.Parse (argc, argv);
  NodeContainer n;
  n.Create (3);
  PointToPointHelper p2p;
  p2p.SetDeviceAttribute ("DataRate", StringValue ("100Mbps"));
  p2p.SetChannelAttribute ("Delay", TimeValue (MilliSeconds (5)));
  NetDeviceContainer d0 = p2p.Install (n.Get (0), n.Get (1));
  p2p.SetDeviceAttribute ("DataRate", StringValue ("10Mbps"));
  p2p.SetChannelAttribute ("Delay", StringValue ("20ms"));
  p2p.SetQueue ("ns3::DropTailQueue", "MaxSize", StringValue ("50p"));
  NodeContainer n1n2 = NodeContainer (n.Get (1), n.Get (2));
  NetDeviceContainer d1 = p2p.Install (n1n2);
  InternetStackHelper stack;
  stack.Install (n);
  for (uint32_t i = 0; i < 2; ++i)
    {
      stack.Install (n.Get (i));
    }
  Simulator::Run ();
}
