//go:build race

package architecture

const raceEnabled = true
