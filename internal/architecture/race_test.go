package architecture

import (
	"os"
	"testing"
)

// TestRaceDetectorIsOn keeps the race stage honest: its name promises the detector, this proves it.
func TestRaceDetectorIsOn(t *testing.T) {
	if os.Getenv("ROCELENS_RACE") == "" {
		t.Skip("ROCELENS_RACE is not set: this is not the race stage")
	}
	if !raceEnabled {
		t.Fatal("the race stage runs without the race detector")
	}
}
