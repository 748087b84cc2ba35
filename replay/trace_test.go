package replay_test
import ("testing";"os";"strconv";"github.com/rocelens/rocelens/replay/roce/scenario")
func TestTrace(t *testing.T) {
	seed,_ := strconv.ParseUint(os.Getenv("TR_SEED"),10,64)
	qp,_ := strconv.ParseUint(os.Getenv("TR_FROM"),10,64)
	to,_ := strconv.ParseUint(os.Getenv("TR_TO"),10,64)
	c, missing := scenarioOf(seed)
	w := newWatcher(seed, missing)
	c.Tap = func(f scenario.Frame) { before := len(w.findings); n0 := w.packet.Meta.Number; w.tap(f); n := w.number
		if n >= qp && n <= to { if w.packet.Meta.Number == n0 { t.Logf("%d MISSED", n) } else { p := &w.packet; t.Logf("%d %.3f %v>%v qp %x psn %d %v len %d ar %v aeth %02x msn %d dma %d id %d", n, float64(p.Meta.Time%1e9)/1e3, p.Network.Source, p.Network.Destination, p.BTH.DestinationQP, p.BTH.PSN, p.BTH.Opcode, p.PayloadLength, p.BTH.AckRequest, uint8(p.AETH.Syndrome), p.AETH.MSN, p.RETH.DMALength, p.Network.ID) } }
		for i := before; i < len(w.findings); i++ { if n>=qp && n<=to {t.Logf("   >>> %v %v %s", w.findings[i].Verdict, w.findings[i].Rule, w.findings[i].Sentence)} } }
	run, err := scenario.New(c); if err != nil { t.Fatal(err) }
	w.expect(run.Connections); run.Go()
}
