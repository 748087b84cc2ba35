package filter

import (
	"strings"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce"
)

// withMetaRoCE adds the fields of all MetaRoCE profiles to a list.
func withMetaRoCE(list map[string]Kind) map[string]Kind {
	for _, p := range dissector.MetaRoCEProfiles() {
		for i := range p.Headers {
			list[headerField(p, i)] = KindPresence
		}
		for i := range p.Fields {
			f := &p.Fields[i]
			list[f.Filter] = KindNumber
			switch f.Kind {
			case metaroce.KindVector:
				list[f.Filter] = KindBytes
			case metaroce.KindFlags:
				list[f.Filter+".reserved"] = KindFlag
				for j := range p.Flags {
					list[f.Filter+"."+strings.ToLower(p.Flags[j].Name)] = KindFlag
				}
			case metaroce.KindUint, metaroce.KindHex, metaroce.KindCode, metaroce.KindReserved:
			}
		}
		list[p.Filter+".payload"] = KindBytes
		list[p.Filter+".icrc"] = KindNumber
		list[p.Filter+".icrc.status"] = KindText
		list[p.Filter+".icrc.computed"] = KindNumber
	}
	return list
}

func headerField(p *metaroce.Profile, header int) string {
	return p.Filter + "." + strings.ToLower(p.Headers[header].Name)
}

// metaRoCENumbers are, for each profile by its name, the fields that are numbers and stand in no packet twice.
var metaRoCENumbers = func() map[string]map[string][]int {
	all := map[string]map[string][]int{}
	for _, p := range dissector.MetaRoCEProfiles() {
		byName := map[string][]int{}
		for i := range p.Fields {
			if f := &p.Fields[i]; f.Kind != metaroce.KindVector {
				byName[f.Filter] = append(byName[f.Filter], i)
			}
		}
		all[p.Name] = byName
	}
	return all
}()

// metaRoCEField answers for the fields of a MetaRoCE packet that are numbers. Of the headers that have a field of
// one name, a packet has one at most; where it has more, the tree must say.
func metaRoCEField(p *dissector.Packet, name string) (v value, present, known bool) {
	packet := p.MetaRoCE.Decoded()
	if packet == nil {
		return value{}, false, false
	}
	places, known := metaRoCENumbers[packet.Profile().Name][name]
	for _, i := range places {
		if n, ok := packet.Uint(i); ok {
			if present {
				return value{}, false, false
			}
			v, present = value{number: n}, true
		}
	}
	return v, present, known
}
