package architecture

import (
	"os/exec"
	"strings"
	"testing"
)

// The agent runs beside the work of others, so it carries nothing that only the service needs. kong looks methods up by name,
// which keeps the linker from leaving out those of any type that is linked: what is imported is what is carried.
func TestAgentCarriesNothingOfTheService(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/rocelens-agent")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for _, banned := range []string{"github.com/ClickHouse/clickhouse-go/v2", "github.com/pressly/goose/v3", module + "server", module + "web", module + "migrations"} {
			if within(dep, banned) {
				t.Errorf("the agent links %s", dep)
			}
		}
		if dep == module+"store" {
			t.Errorf("the agent links %s: it ships by way of store/shipping", dep)
		}
	}
}
