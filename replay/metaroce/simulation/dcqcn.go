package simulation

import "time"

// dcqcn is the rate of a RoCEv2 sender as Zhu et al. describe it ("Congestion Control for Large-Scale RDMA
// Deployments", SIGCOMM 2015), with their parameters; increase is by timer alone.
type dcqcn struct {
	line, rate, target float64 // bit/s
	alpha              float64
	alphaAt            time.Duration // when alpha decays
	increaseAt         time.Duration
	stage              int
}

const (
	cnpInterval  = 50 * time.Microsecond
	dcqcnTimer   = 55 * time.Microsecond
	dcqcnGain    = 1.0 / 256
	dcqcnFast    = 5    // stages of fast recovery
	dcqcnAdd     = 40e6 // bit/s
	dcqcnMinimum = 100e6
)

func (d *dcqcn) init(rate float64) {
	d.line, d.rate, d.target, d.alpha = rate, rate, rate, 1
	d.alphaAt, d.increaseAt = never, never
}

// cut is a CNP.
func (d *dcqcn) cut(now time.Duration) {
	d.target = d.rate
	d.rate = max(dcqcnMinimum, d.rate*(1-d.alpha/2))
	d.alpha = (1-dcqcnGain)*d.alpha + dcqcnGain
	d.alphaAt, d.increaseAt, d.stage = now+dcqcnTimer, now+dcqcnTimer, 0
}

// recover does what the timers ask for.
func (d *dcqcn) recover(now time.Duration) {
	for d.alphaAt <= now {
		d.alpha *= 1 - dcqcnGain
		d.alphaAt += dcqcnTimer
	}
	for d.increaseAt <= now {
		if d.stage++; d.stage > dcqcnFast {
			d.target = min(d.line, d.target+dcqcnAdd)
		}
		d.rate = min(d.line, (d.rate+d.target)/2)
		d.increaseAt += dcqcnTimer
		if d.rate >= d.line {
			d.increaseAt = never
		}
	}
}
