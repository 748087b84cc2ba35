package scenario_test

import (
	"fmt"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Whatever the network does, every message arrives whole and in order, and what the tap sees decodes.
func TestScenariosFinish(t *testing.T) {
	for _, vantage := range []scenario.Vantage{scenario.NearRequester, scenario.Middle, scenario.NearResponder} {
		for _, loss := range []float64{0, 0.001, 0.01, 0.1} {
			t.Run(fmt.Sprintf("%v loss %v", vantage, loss), func(t *testing.T) {
				c := scenario.DefaultConfig()
				c.Seed, c.Loss, c.Vantage, c.Connections, c.Clients, c.BothWays = 3, loss, vantage, 5, 2, true
				c.MarkChance = 0.01
				var p dissector.Packet
				c.Tap = func(f scenario.Frame) {
					if err := dissector.Decode(f.Data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
						t.Errorf("%v: %x", err, f.Data)
					}
					if s := dissector.VerifyICRC(&p); s != dissector.ICRCGood {
						t.Errorf("ICRC is %v: %x", s, f.Data)
					}
				}
				r, err := scenario.New(c)
				if err != nil {
					t.Fatal(err)
				}
				result := r.Go()
				if !result.Finished || len(result.Faults) > 0 || len(result.Errors) > 0 {
					t.Errorf("%+v", result)
				}
			})
		}
	}
}
