// Package scenario runs reference endpoints of MetaRoCE against each other over a simulated network, and holds what
// captures at three places show of their connections against the rules, each with what it misses. A run repeats exactly: same configuration,
// same packets.
package scenario
