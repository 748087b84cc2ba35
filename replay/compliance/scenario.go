package compliance

import (
	"fmt"
	"path"
	"slices"
)

// Scenario is one rule of the profile put to the test.
type Scenario struct {
	ID     string // section of the profile and short name: "receiver/gap"
	Title  string // what a conforming implementation does
	Clause string // where the profile says so; [M] is Meta's description, [P] the profile's choice
	Checks string // what is sent, and what is looked at

	run func(x *attempt)
}

// Scenarios are all, in the order in which they run.
func Scenarios() []Scenario {
	return slices.Concat(
		handshakeScenarios(), rangeScenarios(), disconnectScenarios(), sentScenarios(), malformedScenarios(), sequenceScenarios(), windowScenarios(),
		triggerScenarios(), countScenarios(), placementScenarios(), orderScenarios(), refusalScenarios(), hintScenarios(),
		answerScenarios(), recoveryScenarios(), failureScenarios(), rateScenarios(), obedienceScenarios(), lifeScenarios(),
	)
}

// Select are the scenarios whose id matches one of the patterns, as path.Match has them, or begins with one and a
// slash. No pattern selects all; one that selects none is an error.
func Select(patterns ...string) ([]Scenario, error) {
	all := Scenarios()
	if len(patterns) == 0 {
		return all, nil
	}
	chosen := make([]bool, len(all))
	for _, p := range patterns {
		found := false
		for i := range all {
			ok, err := path.Match(p, all[i].ID)
			if err != nil {
				return nil, fmt.Errorf("%q is no pattern: %w", p, err)
			}
			if ok || path.Dir(all[i].ID) == p {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario is named %q", p)
		}
	}
	var out []Scenario
	for i := range all {
		if chosen[i] {
			out = append(out, all[i])
		}
	}
	return out, nil
}
