package mr0_test

import "net/netip"

var from, to = netip.MustParseAddrPort("10.0.0.1:50001"), netip.MustParseAddrPort("10.0.0.2:51791")
