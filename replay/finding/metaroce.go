package finding

// Rules of MetaRoCE, profile mr0, in the order of the catalogue.
const (
	MetaRoCERuleCount = iota
)

var metaroceRules = [MetaRoCERuleCount]Description{}
