package afxdp

import (
	"testing"

	"github.com/rocelens/rocelens/internal/bpftest"
)

func TestProgramsAreCurrent(t *testing.T) { bpftest.Current(t) }
