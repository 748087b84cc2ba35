package service

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/rocelens/rocelens/analysis/excerpt"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/tree"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/server"
	"github.com/rocelens/rocelens/server/api"
	"github.com/rocelens/rocelens/store"
)

// proofs implements server.Proofs.
type proofs struct{ store *store.Store }

// proof is a divergence with the flows of its connection.
type proof struct {
	store.Divergence
	flows []store.Flow
}

func (p *proofs) find(ctx context.Context, c *server.Account, id uint64) (out proof, err error) {
	if out.Divergence, err = p.store.Divergence(ctx, c.Id, id); err != nil {
		return out, served(err)
	}
	out.flows, err = p.store.ConnectionFlows(ctx, c.Id, finding.ConnectionID(out.ConnectionID))
	return out, served(err)
}

// Divergence implements server.Proofs.
func (p *proofs) Divergence(ctx context.Context, c server.Account, id uint64) (out api.DivergenceDetail, err error) {
	found, err := p.find(ctx, &c, id)
	if err != nil {
		return out, err
	}
	vantage, err := p.store.Vantage(ctx, c.Id, finding.ConnectionID(found.ConnectionID))
	if err != nil {
		return out, served(err)
	}
	out.Divergence, out.FlowIds = divergenceOf(&found.Divergence), []string{}
	if rule, known := finding.Find(found.Rule); known {
		out.Title = rule.Describe().Title
	}
	for i := range found.flows {
		out.FlowIds = append(out.FlowIds, strconv.FormatUint(uint64(found.flows[i].ID), 10))
	}
	out.Ends = endsOf(found.flows)
	out.Vantage = api.Vantage(vantage.Place)
	out.VantageAt = vantageAt(&vantage, out.Ends)
	return out, nil
}

// endsOf are the two ends of a connection: who sends in its first flow, and who receives.
func endsOf(flows []store.Flow) []api.End {
	if len(flows) == 0 {
		return []api.End{}
	}
	first := &flows[0]
	ends := []api.End{{Address: first.Key.Source.String()}, {Address: first.Key.Destination.String()}}
	to := int64(first.Key.DestinationQP)
	ends[1].Qp = &to
	if first.SourceQP.Known {
		ends[0].Qp = signed(&first.SourceQP.N)
	} else if len(flows) > 1 {
		from := int64(flows[1].Key.DestinationQP)
		ends[0].Qp = &from
	}
	return ends
}

// vantageAt is about where the vantage lies between the ends; nil when that is not known.
func vantageAt(v *store.Vantage, ends []api.End) *float64 {
	at := 0.5
	switch v.Place {
	case finding.VantageNearRequester.String():
		at = 0.08
	case finding.VantageNearResponder.String():
		at = 0.92
	case finding.VantageMiddle.String():
	default:
		return nil
	}
	if len(ends) == 2 && v.Requester.String() != ends[0].Address && v.Requester.String() == ends[1].Address {
		at = 1 - at
	}
	return &at
}

// DivergencePackets implements server.Proofs.
func (p *proofs) DivergencePackets(ctx context.Context, c server.Account, path string, id uint64, around int) (api.Surroundings, error) {
	out := api.Surroundings{Packets: []api.ConnectionPacket{}, Gaps: []api.PacketGap{}}
	found, err := p.find(ctx, &c, id)
	if err != nil {
		return out, err
	}
	near, err := p.store.Surroundings(ctx, c.Id, found.flows, found.Packets, around)
	if err != nil {
		return out, served(err)
	}
	file, err := openFrames(&c, path)
	if err != nil {
		return out, err
	}
	ends := endsOf(found.flows)
	var decoded dissector.Packet
	for i := range near.Packets {
		row := &near.Packets[i]
		line := storedLine(row)
		if frame, err := file.read(row); err == nil {
			line = tree.Summary(&decoded, decode(&frame, row, &decoded))
		}
		one := api.ConnectionPacket{Packet: summaryOf(row, line), Kind: kindOf(row), End: found.end(row, ends)}
		if at := slices.Index(found.Packets, row.Number); at >= 0 {
			at++
			one.Proof = &at
		}
		one.Acknowledges = acknowledged(row, one.Kind)
		out.Packets = append(out.Packets, one)
	}
	for _, gap := range near.Gaps {
		out.Gaps = append(out.Gaps, api.PacketGap{After: int64(gap.After), Packets: int64(gap.Packets)})
	}
	return out, file.close()
}

// end tells which end sent a packet, by its flow, or by its address where it belongs to none of the connection's.
func (p *proof) end(row *store.Packet, ends []api.End) *int {
	for i := range p.flows {
		if row.Flow != nil && *row.Flow == uint64(p.flows[i].ID) {
			return &i
		}
	}
	if len(ends) < 2 || ends[0].Address == ends[1].Address {
		return nil
	}
	for i := range ends {
		if sameAddress(row.Source, ends[i].Address) {
			return &i
		}
	}
	return nil
}

func sameAddress(ip *net.IP, text string) bool {
	return ip != nil && ip.Equal(net.ParseIP(text))
}

// Excerpt implements server.Proofs.
func (p *proofs) Excerpt(ctx context.Context, c server.Account, path string, id uint64, around int) (string, func(io.Writer) error, error) {
	found, err := p.find(ctx, &c, id)
	if err != nil {
		return "", nil, err
	}
	near, err := p.store.Surroundings(ctx, c.Id, found.flows, found.Packets, around)
	if err != nil {
		return "", nil, served(err)
	}
	claim := excerpt.Claim{Rule: found.Rule, Verdict: finding.Verdict(found.Verdict).String(), Sentence: found.Sentence, Packets: found.Packets}
	return claim.FileName(c.Name), func(w io.Writer) error { return write(w, &c, path, near.Packets, &claim) }, nil
}

// write writes packets of a capture as an excerpt.
func write(w io.Writer, c *server.Account, path string, packets []store.Packet, claim *excerpt.Claim) error {
	file, err := openFrames(c, path)
	if err != nil {
		return err
	}
	names := make([]excerpt.Interface, 0, len(c.Interfaces))
	for i := range c.Interfaces {
		names = append(names, excerpt.Interface{Name: c.Interfaces[i].Name, Description: textOf(c.Interfaces[i].Description)})
	}
	out, err := excerpt.NewWriter(w, excerpt.Interfaces(&file.index, names))
	for i := 0; err == nil && i < len(packets); i++ {
		err = file.copy(out, &packets[i], claim.Comment(packets[i].Number, fmt.Sprintf("packet %d of %s", packets[i].Number, c.Name)))
	}
	if closed := file.close(); err == nil {
		err = closed
	}
	return err
}

// copy copies a packet with the comments that it had, and one more.
func (f *frames) copy(out *excerpt.Writer, row *store.Packet, comment string) error {
	frame, err := f.read(row)
	if err != nil {
		return err
	}
	comments, err := f.comments(row)
	if err != nil {
		return err
	}
	return out.Write(&frame, append([]string{comment}, comments...)...)
}
