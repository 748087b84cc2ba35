package pcapfile

import (
	"fmt"
	"iter"
	"slices"
)

// comments are what people wrote into a pcapng file.
type comments struct {
	kept   []string
	untold int
	batch  map[uint64][]string // of the packets of the batch at hand, by number
}

// add keeps a comment on the file, an interface or a packet.
func (c *comments) add(about string, value []byte) {
	if len(c.kept) >= maxNotes {
		c.untold++
		return
	}
	c.kept = append(c.kept, about+": "+text(value))
}

func (c *comments) all() []string {
	all := slices.Clone(c.kept)
	if c.untold > 0 {
		all = append(all, fmt.Sprintf("and %d more", c.untold))
	}
	return all
}

// about keeps the comments among the options of a block.
func (c *comments) about(what string, options []byte, big bool) {
	for value := range optionComments(options, big) {
		c.add(what, value)
	}
}

// packet keeps the comments of a packet for the report and for whoever has the batch.
func (c *comments) packet(number uint64, options []byte, big bool) {
	for value := range optionComments(options, big) {
		if c.batch == nil {
			c.batch = map[uint64][]string{}
		}
		c.batch[number] = append(c.batch[number], text(value))
		c.add(fmt.Sprintf("packet %d", number), value)
	}
}

// optionComments yields the comments among the options of a block.
func optionComments(options []byte, big bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			code, value, rest, ok := nextOption(options, big)
			if !ok || (code == optionComment && len(value) > 0 && !yield(value)) {
				return
			}
			options = rest
		}
	}
}

// Comments are what people wrote about a packet of the batch that Next filled last, given its number. Only pcapng has
// such comments.
func (s *Source) Comments(number uint64) []string { return s.comments.batch[number] }
