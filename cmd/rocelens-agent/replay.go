package main

import (
	"fmt"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/judging"
)

// replayFlags say whether connections are held against the reference while they pass.
type replayFlags struct {
	Replay          bool `env:"ROCELENS_AGENT_REPLAY" help:"Hold connections against the reference transports while they pass, and ship where they diverge. Costs about five times what following flows does."`
	ReplayMemoryMiB int  `name:"replay-memory" default:"256" env:"ROCELENS_AGENT_REPLAY_MEMORY" help:"MiB that it may take for each interface (${default}). Connections that were silent for the longest make room."`
}

const minReplayMemory, maxReplayMemory = 4, 1 << 20 // MiB

func (f *replayFlags) check() error {
	if f.ReplayMemoryMiB < minReplayMemory || f.ReplayMemoryMiB > maxReplayMemory {
		return fmt.Errorf("--replay-memory must be between %d and %d", minReplayMemory, maxReplayMemory)
	}
	return nil
}

// judge is a judge for one watch, nil when none is wanted. found may be nil.
func (f *replayFlags) judge(found judging.Found) *judging.Judge {
	if !f.Replay {
		return nil
	}
	return judging.New(judging.Options{MaxBytes: int64(f.ReplayMemoryMiB) << 20, Found: found})
}
