package portstat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture/portstat"
)

func TestMeaning(t *testing.T) {
	for _, name := range []string{
		"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets",
		"rx_prio3_pause", "tx_prio0_pause", "rx_discards_phy",
	} {
		require.NotEmpty(t, portstat.Meaning(name), name)
	}
	require.Equal(t, portstat.Meaning("rx_prio0_pause"), portstat.Meaning("rx_prio7_pause"))
	require.Empty(t, portstat.Meaning("qos/trust"))
	require.Empty(t, portstat.Meaning("rx_prio9_pause"))
}
