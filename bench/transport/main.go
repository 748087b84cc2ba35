// Command transport measures the reference endpoint of MetaRoCE, profile mr0, in simulation and prints it beside the
// figures that Meta has published and beside go-back-N RoCEv2 with DCQCN on the same network.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rocelens/rocelens/replay/metaroce/figures"
)

func main() { run(os.Stdout) }

func run(out io.Writer) {
	f := figures.DefaultFabric()
	fmt.Fprintf(out, "MetaRoCE, profile mr0, in simulation: the profile is this project's own, not Meta's layout.\n%s\n", f)

	loss(out, f)

	const watched = 6 * time.Millisecond
	fmt.Fprintf(out, "\nN-to-1 incast: round trips until all rates are within 10 %% of the fair share (Meta: 1 to 2)\n")
	fmt.Fprintf(out, "%6s %24s %6s %6s %10s   %s\n", "N", "MetaRoCE", "Jain", "link", "dropped", "go-back-N: settled, Jain, link, dropped")
	for n := 2; n <= 256; n *= 2 {
		r, g := f.MeasureIncast(n, watched), f.MeasureIncastGoBackN(n, watched)
		fmt.Fprintf(out, "%6d %24s %6.3f %5.0f%% %10d   %s, %.3f, %.0f%%, %d\n", n, settled(r), r.Jain, 100*r.Share, r.Dropped,
			settled(g), g.Jain, 100*g.Share, g.Dropped)
	}

	for _, connections := range []int{1000, 4000} {
		fmt.Fprintf(out, "\n%d connections between 16 hosts: payload over planes (Meta: linear up to 4,000 connections)\n", connections)
		var one figures.Planes
		for _, planes := range []int{1, 2, 4, 8} {
			r := f.MeasurePlanes(planes, 16, connections, time.Millisecond)
			if planes == 1 {
				one = r
			}
			fmt.Fprintf(out, "%2d planes: MetaRoCE %6.0f Gbit/s (%.2f x), Jain %.3f; go-back-N %6.0f Gbit/s (%.2f x)\n", planes,
				r.MetaRoCE/1e9, r.MetaRoCE/one.MetaRoCE, r.Jain, r.GoBackN/1e9, r.GoBackN/one.GoBackN)
		}
	}

	fmt.Fprintf(out, "\nA plane dies (Meta: the application does not notice)\n")
	for _, planes := range []int{2, 4, 8} {
		r := f.MeasureFailover(planes, 40*time.Millisecond)
		fmt.Fprintf(out, "%2d planes: MetaRoCE back after %v at %.0f of %.0f Gbit/s, longest wait for a completion %v, %d errors; "+
			"go-back-N: %d of 8 connections dead\n", planes, r.Recovered, r.After/1e9, r.Before/1e9, r.Longest.Round(time.Microsecond), r.Errors, r.GoBackN.Dead)
	}
}

// loss prints what is kept under loss, and at 1 % what the length of the way and the number of paths make of it.
func loss(out io.Writer, f figures.Fabric) {
	const watched = 20 * time.Millisecond
	none := f.MeasureLoss(0, watched)
	fmt.Fprintf(out, "\nThroughput kept under random loss of data and ACKs, of %.1f Gbit/s (Meta: about 86 %% at 1 %%, useful at 10 %%)\n", none.MetaRoCE/1e9)
	fmt.Fprintf(out, "%8s %12s %15s %12s %12s\n", "loss", "MetaRoCE", "rto_min "+figures.ShortRTO.String(), "tail probes", "go-back-N")
	for _, share := range []float64{0.001, 0.01, 0.05, 0.1} {
		r := f.MeasureLoss(share, watched)
		fmt.Fprintf(out, "%7.1f%% %11.1f%% %14.1f%% %11.1f%% %11.1f%%\n", 100*share, 100*r.MetaRoCE/none.MetaRoCE,
			100*r.ShortTimer/none.ShortTimer, 100*r.TailProbes/none.TailProbes, 100*r.GoBackN/none.GoBackN)
	}
	paths := []int{8, 16, 64}
	fmt.Fprintf(out, "\nKept at 1 %% by the profile's defaults with %d, %d and %d paths\n", paths[0], paths[1], paths[2])
	for _, hop := range []time.Duration{f.Hop, 5 * time.Microsecond, 15 * time.Microsecond} {
		g := f
		g.Hop = hop
		fmt.Fprintf(out, "round trip %7v:", g.RoundTrip())
		for _, n := range paths {
			fmt.Fprintf(out, " %5.1f%%", 100*g.MeasureKept(0.01, n, watched))
		}
		fmt.Fprintln(out)
	}
}

func settled(r figures.Incast) string {
	if r.Settled == 0 {
		return "not within 6 ms"
	}
	return fmt.Sprintf("%.1f round trips, %v", r.RoundTrips(), r.Settled)
}
