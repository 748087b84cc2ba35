package pcapfile

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/rocelens/rocelens/capture"
)

// sectionBlock begins a section. Its byte order is known already.
func (s *Source) sectionBlock(body []byte, at int64) {
	ng := &s.ng
	ng.foreign, ng.clocks, ng.drops, ng.snap = true, nil, nil, 0
	ng.first = uint32(len(s.interfaces))
	if len(body) < sectionBodyLength {
		s.note(at, "a section was passed over: "+errShortBlock.Error())
		return
	}
	if major := load16(body[4:], ng.big); major != 1 {
		s.note(at, fmt.Sprintf("a section of the unknown version %d.%d was passed over", major, load16(body[6:], ng.big)))
		return
	}
	if len(s.index.Sections) >= maxSections {
		s.note(at, fmt.Sprintf("a section was passed over: the file has more than %d", maxSections))
		return
	}
	ng.foreign = false
	ng.section = uint32(len(s.index.Sections))
	about := "the file"
	if ng.section > 0 {
		about = fmt.Sprintf("section %d", ng.section+1)
	}
	s.comments.about(about, body[sectionBodyLength:], ng.big)
	s.index.Sections = append(s.index.Sections, IndexSection{Offset: at, BigEndian: ng.big, FirstInterface: ng.first})
}

// interfaceBlock appends an interface; one that cannot be read keeps its number, so that those after it keep theirs.
func (s *Source) interfaceBlock(body []byte, at int64) {
	ng := &s.ng
	if len(s.interfaces) >= maxInterfaces {
		s.note(at, fmt.Sprintf("an interface was passed over: the file has more than %d", maxInterfaces))
		return
	}
	i := capture.Interface{Section: ng.section}
	x := IndexInterface{Section: ng.section, Resolution: Microseconds}
	var options []byte
	if len(body) >= interfaceBodyLength {
		i.LinkType, i.SnapLength = load16(body, ng.big), load32(body[4:], ng.big)
		options = body[interfaceBodyLength:]
	} else {
		s.note(at, fmt.Sprintf("interface %d cannot be read: %v", len(s.interfaces), errShortBlock))
	}
	for {
		code, value, rest, ok := nextOption(options, ng.big)
		if !ok {
			break
		}
		options = rest
		switch {
		case code == optionComment:
			s.comments.add(fmt.Sprintf("interface %d", len(s.interfaces)), value)
		case code == optionIfName:
			i.Name = text(value)
		case code == optionIfDescription:
			i.Description = text(value)
		case code == optionIfResolution && len(value) == 1:
			x.Resolution = Resolution(value[0])
		case code == optionIfFCSLength && len(value) == 1:
			x.FCSLength = interfaceFCS(value[0])
		case code == optionIfOffset && len(value) == 8:
			x.TimeOffset = int64(load64(value, ng.big))
		}
	}
	if optionsCut(options, ng.big) {
		s.note(at, fmt.Sprintf("the options of interface %d are longer than their block; those that fit were taken", len(s.interfaces)))
	}
	c := clock{}
	if x.Resolution.Valid() {
		c = newClock(x.Resolution, x.TimeOffset)
	} else {
		s.note(at, fmt.Sprintf("interface %d counts time in units of %s s, too fine to count to one second; its packets are taken without time",
			len(s.interfaces), x.Resolution))
	}
	x.LinkType, x.SnapLength = i.LinkType, i.SnapLength
	if len(ng.clocks) == 0 {
		ng.snap = i.SnapLength
	}
	ng.clocks, ng.drops = append(ng.clocks, c), append(ng.drops, dropCount{})
	s.interfaces = append(s.interfaces, i)
	s.index.Interfaces = append(s.index.Interfaces, x)
}

// interfaceFCS reads if_fcslen. The format counts bits, yet writers are seen that count bytes; no FCS is shorter than
// a byte or longer than seven.
func interfaceFCS(n uint8) uint8 {
	if n >= 8 {
		return n / 8
	}
	return n
}

// text keeps a readable beginning of a name or comment, in one line that a terminal can be given: whoever wrote the file
// is not trusted.
func text(b []byte) string {
	if len(b) > maxText {
		b = b[:maxText]
	}
	valid := strings.ToValidUTF8(strings.TrimRight(string(b), "\x00"), "\ufffd")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '\ufffd'
		}
		return r
	}, valid)
}

// dumpcapComment is what dumpcap writes into every file.
const dumpcapComment = "Counters provided by dumpcap"

func (s *Source) statisticsBlock(body []byte, at int64) {
	ng := &s.ng
	if len(body) < 12 {
		s.note(at, "interface statistics were passed over: "+errShortBlock.Error())
		return
	}
	local := load32(body, ng.big)
	if int64(local) >= int64(len(ng.clocks)) {
		s.note(at, fmt.Sprintf("interface statistics were passed over: they name interface %d, their section has %d", local, len(ng.clocks)))
		return
	}
	i := &s.interfaces[ng.first+local]
	var dropped uint64
	var told bool
	for options := body[12:]; ; {
		code, value, rest, ok := nextOption(options, ng.big)
		if !ok {
			break
		}
		options = rest
		if code == optionComment && string(value) != dumpcapComment {
			s.comments.add(fmt.Sprintf("statistics of interface %d", ng.first+local), value)
		}
		if len(value) != 8 {
			continue
		}
		n := load64(value, ng.big)
		switch code {
		case optionISBReceived:
			i.Received = &n
		case optionISBIfDropped, optionISBOSDropped:
			dropped, told = dropped+n, true
		}
	}
	if told {
		i.Dropped = &dropped
		ng.drops[local].statistics = true
	}
}
