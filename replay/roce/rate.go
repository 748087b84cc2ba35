package roce

import (
	"errors"
	"time"
)

// DCQCN has the parameters of a sender's reaction to CNPs as Zhu et al. describe it ("Congestion Control for
// Large-Scale RDMA Deployments", SIGCOMM 2015). Increase is by timer alone.
type DCQCN struct {
	Gain     float64       // g
	Timer    time.Duration // of alpha's decay and of increase
	Recovery int           // stages of fast recovery
	Add      float64       // additive increase, bit/s
	Minimum  float64       // bit/s
}

// DefaultDCQCN is the paper's.
func DefaultDCQCN() DCQCN {
	return DCQCN{Gain: 1.0 / 256, Timer: 55 * time.Microsecond, Recovery: 5, Add: 40e6, Minimum: 100e6}
}

func (p *DCQCN) validate() error {
	if p.Gain <= 0 || p.Gain > 1 || p.Timer <= 0 || p.Recovery < 0 || p.Add < 0 || p.Minimum <= 0 {
		return errors.New("DCQCN: gain is more than 0 and at most 1, timer and minimum are positive, the others not negative")
	}
	return nil
}

// rateControl is the rate of one QP.
type rateControl struct {
	rate, target float64 // bit/s
	alpha        float64
	alphaAt      time.Duration // when alpha decays
	increaseAt   time.Duration
	stage        int
	nextAt       time.Duration // when the next packet of data may leave
}

func (r *rateControl) init(line float64) {
	*r = rateControl{rate: line, target: line, alpha: 1, alphaAt: Never, increaseAt: Never}
}

// cut is a CNP.
func (r *rateControl) cut(now time.Duration, p *DCQCN) {
	r.target = r.rate
	r.rate = max(p.Minimum, r.rate*(1-r.alpha/2))
	r.alpha = (1-p.Gain)*r.alpha + p.Gain
	r.alphaAt, r.increaseAt, r.stage = now+p.Timer, now+p.Timer, 0
}

// recover does what the timers ask for.
func (r *rateControl) recover(now time.Duration, line float64, p *DCQCN) {
	for r.increaseAt <= now {
		if r.stage++; r.stage > p.Recovery {
			r.target = min(line, r.target+p.Add)
		}
		r.rate = min(line, (r.rate+r.target)/2)
		r.increaseAt += p.Timer
		if r.rate >= line*0.999 {
			r.rate, r.increaseAt = line, Never
		}
	}
	for steps := 0; r.alphaAt <= now && steps < 4096; steps++ { // beyond it alpha is nothing
		r.alpha *= 1 - p.Gain
		r.alphaAt += p.Timer
	}
	if r.alphaAt <= now {
		r.alphaAt = now + p.Timer
	}
}

// sent notes that so many bytes of a frame left.
func (r *rateControl) sent(now time.Duration, size int, line float64) {
	if r.rate < line {
		r.nextAt = max(r.nextAt, now-time.Microsecond) + time.Duration(float64(size)*8e9/r.rate)
	}
}
