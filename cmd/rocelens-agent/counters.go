package main

import (
	"log/slog"
	"strings"

	"github.com/rocelens/rocelens/capture/portstat"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/ship"
)

// counterFlags say whether counters are read beside the packets.
type counterFlags struct {
	NoCounters bool `env:"ROCELENS_AGENT_NO_COUNTERS" help:"Leave alone what NIC, driver and kernel count beside the packets."`
}

// counters begins to read those of an interface, and says where a capture on it cannot see everything.
func (f *counterFlags) counters(agent *ship.Agent, name string, logger *slog.Logger) []ship.Companion {
	reader := portstat.NewReader(name)
	var devices []string
	for _, p := range reader.Ports() {
		if !p.Soft {
			devices = append(devices, p.String())
		}
	}
	if len(devices) > 0 {
		logger.Warn("the NIC moves RDMA packets of this interface past the kernel: those of this host itself are not seen here; see rocelens-agent doctor",
			slog.String("interface", name), slog.String("rdma", strings.Join(devices, ", ")))
	}
	if agent == nil || f.NoCounters {
		return nil
	}
	return []ship.Companion{agent.NewCounters(name, reader)}
}
